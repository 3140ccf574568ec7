import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { licenses } from "./licenses";
import { version } from "./package.json";

export default defineConfig({
  plugins: [svelte(), licenses()],
  base: "./",
  define: { __ANTHILL_VERSION__: JSON.stringify(version) },
  build: {
    target: "es2022",
    // Fonts stay files: the content security policy has no data: for them.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    rollupOptions: {
      output: {
        manualChunks: (id) => (/node_modules\/(echarts|zrender)/.test(id) ? "charts" : undefined),
      },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
