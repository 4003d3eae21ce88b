import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gradientImage } from '#images/sample-images.fixture.js';

/** What clients send: paths of PNG files. */
export interface SampleFiles {
  readonly images: readonly string[];
  readonly mask: string;
}

/** Writes them to a folder of their own. */
export async function makeSampleFiles(): Promise<SampleFiles & { remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-clients-'));
  const write = async (name: string, bytes: Buffer): Promise<string> => {
    await writeFile(join(folder, name), bytes);
    return join(folder, name);
  };
  return {
    images: [
      await write('house.png', await gradientImage(128, 128, 'png')),
      await write('tree.png', await gradientImage(96, 128, 'png')),
    ],
    // Half of it is transparent: there it is edited.
    mask: await write('mask.png', await gradientImage(128, 128, 'png', 4)),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
