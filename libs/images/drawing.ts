import sharp, { type Sharp } from 'sharp';
import { MAX_CODEC_SECONDS, MAX_IMAGE_PIXELS } from './limits.js';
import './sharp.js';

const FONT_FAMILY = 'DejaVu Sans';
let fontsRegistered: Promise<unknown> | undefined;

/**
 * Opens an SVG that this program wrote, with escaped text and no external references. Never pass it a caller's bytes or
 * markup. The first call enables SVG in this process.
 */
export function openDrawing(svg: string): Sharp {
  sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] });
  return sharp(Buffer.from(svg), { limitInputPixels: MAX_IMAGE_PIXELS }).timeout({ seconds: MAX_CODEC_SECONDS });
}

/**
 * Registers font files for the text of drawings, once per process: without a system font, text would be blank. `files`
 * are absolute paths.
 */
export async function registerFonts(files: readonly string[]): Promise<void> {
  fontsRegistered ??= Promise.all(
    files.map((fontfile) =>
      sharp({ text: { text: 'a', font: FONT_FAMILY, fontfile } })
        .raw()
        .toBuffer(),
    ),
  );
  await fontsRegistered;
}
