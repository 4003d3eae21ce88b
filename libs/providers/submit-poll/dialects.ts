import { textAt, valueAt } from '../http/json-value.js';
import { textOfSize } from '../offered-size.js';
import type { Dialect, ModelOption } from './dialect.js';
import { askablePixels, offeredRatio, ratioOrPixels, tierOf } from './sizes.js';

const OFFICIAL = /-official$/;
const FULL: readonly ModelOption[] = ['quality', 'moderation', 'mask'];

/** The entries of a list, or the single value in its place. */
function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? (value as readonly unknown[]) : [value];
}

/** https://docs.apimart.ai: images/generations, tasks/status, uploads/images. */
const apimart: Dialect = {
  taskPath: (jobId) => `/tasks/${jobId}?language=en`,
  jobId: (answer) => valueAt(answer, 'data', 0, 'task_id'),
  task: (answer) => valueAt(answer, 'data'),
  images: (task) => listOf(valueAt(task, 'result', 'images')).flatMap((image) => listOf(valueAt(image, 'url'))),
  uploadPath: '/uploads/images',
  uploaded: (answer) => valueAt(answer, 'url'),
  sizeFor: (_model, wanted, squareEdge) =>
    wanted === undefined
      ? { size: 'auto', fields: { size: 'auto', resolution: tierOf(squareEdge) } }
      : ratioOrPixels(wanted),
  accepts: (model) => (OFFICIAL.test(model) ? FULL : []),
  idempotency: true,
};

/** https://docs.evolink.ai: gpt-image-2, get-task-detail, file upload. */
const evolink: Dialect = {
  taskPath: (jobId) => `/tasks/${jobId}`,
  jobId: (answer) => valueAt(answer, 'id'),
  task: (answer) => answer,
  images: (task) => listOf(valueAt(task, 'results')),
  uploadPath: 'https://files-api.evolink.ai/api/v1/files/upload/stream',
  uploaded: (answer) => valueAt(answer, 'data', 'file_url'),
  // It maps ratios to its own pixel sizes, so always send pixels.
  sizeFor: (_model, wanted) => {
    const size = wanted === undefined ? 'auto' : textOfSize(askablePixels(wanted));
    return { size, fields: { size } };
  },
  accepts: (model) => (/-beta$/.test(model) ? [] : ['quality']),
  idempotency: false,
};

const TOAPIS_1K = /^(1:1|3:2|2:3)$/;
const TOAPIS_4K = /^(16:9|9:16|2:1|1:2|21:9|9:21)$/;

/** https://docs.toapis.com: images/gpt-image-2, tasks/image-status, uploads/images. */
const toapis: Dialect = {
  taskPath: (jobId) => `/images/generations/${jobId}`,
  jobId: (answer) => valueAt(answer, 'id'),
  task: (answer) => answer,
  images: (task) =>
    listOf(
      textAt(task, 'result', 'data', 0, 'url') ?? textAt(task, 'result', 'data', 0, 'b64_json') ?? textAt(task, 'url'),
    ),
  uploadPath: '/uploads/images',
  uploaded: (answer) => valueAt(answer, 'data', 'url'),
  sizeFor: (model, wanted, squareEdge) => {
    const isOfficial = OFFICIAL.test(model);
    if (wanted === undefined) {
      const resolution = tierCase(isOfficial, tierOf(squareEdge));
      return { size: 'auto', fields: isOfficial ? { size: 'auto', resolution } : { resolution } };
    }
    const { size, fields } = offeredRatio(wanted, (ratio, tier) => {
      if (tier === '1k') return isOfficial || TOAPIS_1K.test(ratio);
      return tier === '2k' || TOAPIS_4K.test(ratio);
    });
    return { size, fields: { ...fields, resolution: tierCase(isOfficial, fields['resolution'] ?? '1k') } };
  },
  accepts: (model) => (OFFICIAL.test(model) ? ['quality', 'mask'] : []),
  idempotency: false,
};

/** One model writes tiers in lower case, the other in upper case. */
function tierCase(isOfficial: boolean, tier: string): string {
  return isOfficial ? tier : tier.toUpperCase();
}

export const DIALECTS = { apimart, evolink, toapis } as const satisfies Record<string, Dialect>;
