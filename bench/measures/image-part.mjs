import { join } from 'node:path';
import { finishImage } from '#images/steps/finish-image.js';
import { SandboxProvider } from '#providers/sandbox/sandbox-provider.js';
import { DiskStore } from '#storage/disk-store.js';
import { median, milliseconds } from '../figures.mjs';
import { instantProvider } from '../instant-provider.mjs';

const SIZES = [
  { name: 'instant, 64 x 64', pixels: undefined },
  { name: '1k, 1024 x 1024', pixels: { width: 1024, height: 1024 } },
  { name: '2k, 2048 x 2048', pixels: { width: 2048, height: 2048 } },
  { name: '4k, 3840 x 2160', pixels: { width: 3840, height: 2160 } },
];

const MARK = { taskId: `task_${'0'.repeat(26)}`, action: 'generation', tool: 'Darkroom' };

export const title = 'The image’s own part of a call';

/**
 * The parts that other measures leave out or keep small: rendering (sandbox), the image pipeline,
 * and the disk store.
 */
export async function measure({ stage, quick }) {
  const store = new DiskStore(join(stage.folder, 'images'));
  const results = [];
  for (const { name, pixels } of SIZES) {
    const runs = [];
    for (let round = 0; round < (quick ? 2 : 7); round++) runs.push(await oneImage(store, pixels, round));
    const part = (figure) => median(runs.map((run) => run[figure]));
    results.push({
      name,
      bytes: part('bytes'),
      draw: part('draw'),
      finish: part('finish'),
      put: part('put'),
    });
  }
  return {
    columns: ['image', 'bytes', 'provider', 'image pipeline', 'store'],
    rows: results.map(({ name, bytes, draw, finish, put }) => [
      name,
      bytes.toLocaleString('en'),
      ...[draw, finish, put].map(milliseconds),
    ]),
    goals: [],
    raw: results,
  };
}

async function oneImage(store, pixels, round) {
  const { signal } = new AbortController();
  const provider = pixels === undefined ? instantProvider : new SandboxProvider();
  const marks = [performance.now()];
  const { images } = await provider.generate(requestOf(pixels), contextOf(signal));
  const [bytes] = images;
  marks.push(performance.now());
  const order = {
    target: pixels,
    format: 'png',
    compression: undefined,
    background: undefined,
    mark: MARK,
  };
  const finished = await finishImage(bytes, order, signal);
  marks.push(performance.now());
  const key = `results/task_${'0'.repeat(26)}/${round}-${finished.width}.png`;
  await store.put(key, finished.pieces, { contentType: finished.contentType });
  marks.push(performance.now());
  const [draw, finish, put] = marks.slice(1).map((mark, index) => mark - marks[index]);
  return { bytes: finished.size, draw, finish, put };
}

function requestOf(pixels) {
  return {
    action: 'generation',
    model: 'gpt-image-2',
    prompt: 'A lighthouse at dawn, soft pink clouds over a quiet sea',
    width: pixels?.width,
    height: pixels?.height,
    images: [],
    outputFormat: 'png',
    partialImages: 0,
  };
}

function contextOf(signal) {
  return { signal, idempotencyKey: 'bench', startNumber: 1, onProgress: () => {}, onPartial: () => {} };
}
