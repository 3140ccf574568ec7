// The parts of ECharts that are used. Texts are drawn on the canvas (`richText`), never as markup.

import { CustomChart, LineChart, TreemapChart } from "echarts/charts";
import {
  AxisPointerComponent,
  GridComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([
  AxisPointerComponent,
  CanvasRenderer,
  CustomChart,
  GridComponent,
  LineChart,
  MarkAreaComponent,
  MarkLineComponent,
  TooltipComponent,
  TreemapChart,
]);

export { init };
export type { EChartsType } from "echarts/core";
export type { CustomSeriesOption, EChartsOption } from "echarts";
