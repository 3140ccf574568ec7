// Small PNG files: a picture of a page has few colors that differ visibly.

import { deflateSync } from "node:zlib";

const COLORS = 200;
/** The most frequent colors are those of areas, which stay as they are. */
const AREAS = 48;

/** A picture in the format of `ImageData`, without its transparency. */
export interface Picture {
  width: number;
  height: number;
  data: Uint8Array;
}

export function png({ width, height, data }: Picture): Buffer {
  const color = (pixel: number) =>
    (data[4 * pixel]! << 16) | (data[4 * pixel + 1]! << 8) | data[4 * pixel + 2]!;
  const frequency = new Map<number, number>();
  for (let i = 0; i < width * height; i++) frequency.set(color(i), (frequency.get(color(i)) ?? 0) + 1);
  const colors = [...frequency].sort(([a, m], [b, n]) => n - m || a - b).map(([one]) => one);
  const palette = choose(colors);

  const index = new Map<number, number>();
  for (const one of colors) index.set(one, nearest(palette, one).index);
  // Each row begins with its filter: none.
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(color(y * width + x))!;
  }

  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The most frequent colors, then those that differ by as little as makes them few enough: rare ones keep their hue. */
function choose(colors: number[]): number[] {
  for (let apart = 1; ; apart *= 1.5) {
    const chosen = colors.slice(0, AREAS);
    for (const one of colors.slice(AREAS)) {
      if (nearest(chosen, one).distance >= apart) chosen.push(one);
      if (chosen.length > COLORS) break;
    }
    if (chosen.length <= COLORS) return chosen;
  }
}

function nearest(palette: number[], color: number): { index: number; distance: number } {
  let index = 0;
  let distance = Infinity;
  for (let i = 0; i < palette.length; i++) {
    const one = palette[i]!;
    const red = (one >> 16) - (color >> 16);
    const green = ((one >> 8) & 255) - ((color >> 8) & 255);
    const blue = (one & 255) - (color & 255);
    const squares = red * red + green * green + blue * blue;
    if (squares < distance) [index, distance] = [i, squares];
  }
  return { index, distance };
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(content.length, 0);
  whole.set(named, 4);
  whole.writeUInt32BE(checksum(named), named.length + 4);
  return whole;
}

/** CRC-32; `node:zlib` has one only since Node 20. */
function checksum(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
