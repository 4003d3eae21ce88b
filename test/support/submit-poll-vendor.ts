import { json, startUpstream, text, type Script, type UpstreamCall } from './scripted-upstream.js';

export const VENDORS = ['apimart', 'evolink', 'toapis'] as const;
export type VendorType = (typeof VENDORS)[number];

/** A vendor's documented requests and responses. `image` is a URL or base64. */
interface Shapes {
  readonly submitted: (jobId: string) => Script;
  readonly working: (jobId: string, status: string, progress: number) => Script;
  readonly completed: (jobId: string, image: string | undefined, more?: object) => Script;
  readonly failed: (jobId: string, code: string, message?: string) => Script;
  readonly cancelled: (jobId: string) => Script;
  readonly refused: (status: number, type: string, message?: string, headers?: Record<string, string>) => Script;
  readonly unknownJob: () => Script;
  readonly uploaded: (url: string) => Script;
  /** Path of a poll below /v1. */
  readonly taskPath: (jobId: string) => string;
  readonly uploadPath: string;
  /** The status values of work in progress, in order. */
  readonly words: readonly string[];
}

const apimartTask = (jobId: string, more: object): Script => json({ code: 200, data: { id: jobId, ...more } });
const evolinkTask = (jobId: string, more: object): Script =>
  json({
    created: 1_757_156_493,
    id: jobId,
    model: 'gpt-image-2',
    object: 'image.generation.task',
    type: 'image',
    ...more,
  });
const toapisTask = (jobId: string, more: object): Script =>
  json({ id: jobId, object: 'generation.task', model: 'gpt-image-2', created_at: 1_768_381_010, ...more });

const SHAPES: Readonly<Record<VendorType, Shapes>> = {
  apimart: {
    words: ['submitted', 'pending', 'processing', 'in_progress'],
    taskPath: (jobId) => `/tasks/${jobId}?language=en`,
    uploadPath: '/uploads/images',
    submitted: (jobId) => json({ code: 200, data: [{ status: 'submitted', task_id: jobId }] }),
    working: (jobId, status, progress) => apimartTask(jobId, { status, progress, estimated_time: 60 }),
    completed: (jobId, image, more = {}) => {
      const images = image === undefined ? [] : [{ url: [image], expires_at: 1_763_174_708 }];
      return apimartTask(jobId, { status: 'completed', progress: 100, cost: 0.15, result: { images }, ...more });
    },
    failed: (jobId, code, message = 'It failed.') =>
      apimartTask(jobId, { status: 'failed', progress: 0, cost: 0, error: { code, message, type: 'api_error' } }),
    cancelled: (jobId) => apimartTask(jobId, { status: 'cancelled', progress: 0 }),
    refused: (status, type, message = 'No.', headers) =>
      json({ error: { code: status, message, type } }, status, headers),
    unknownJob: () => json({ error: { code: 404, message: 'Task not found', type: 'not_found_error' } }, 404),
    uploaded: (url) => json({ url, filename: 'a.png', content_type: 'image/png', bytes: 9, created_at: 1_753_084_800 }),
  },
  evolink: {
    words: ['pending', 'processing'],
    taskPath: (jobId) => `/tasks/${jobId}`,
    uploadPath: '/files/upload/stream',
    submitted: (jobId) =>
      evolinkTask(jobId, {
        status: 'pending',
        progress: 0,
        task_info: { can_cancel: true, estimated_time: 100 },
        usage: { billing_rule: 'per_call', credits_reserved: 2.5, user_group: 'default' },
      }),
    working: (jobId, status, progress) => evolinkTask(jobId, { status, progress }),
    completed: (jobId, image, more = {}) =>
      evolinkTask(jobId, {
        status: 'completed',
        progress: 100,
        results: image === undefined ? [] : [image],
        ...more,
      }),
    failed: (jobId, code, message = 'It failed.') =>
      evolinkTask(jobId, { status: 'failed', progress: 0, error: { code, message } }),
    cancelled: (jobId) => evolinkTask(jobId, { status: 'cancelled', progress: 0 }),
    refused: (status, type, message = 'No.', headers) =>
      json({ error: { code: type, message, type, param: '' } }, status, headers),
    unknownJob: () => json({ error: { code: 'task_not_found', message: 'Task not found', type: 'not_found' } }, 404),
    uploaded: (url) => json({ success: true, code: 200, data: { file_id: 'f1', file_url: url, download_url: url } }),
  },
  toapis: {
    words: ['submitted', 'queued', 'in_progress'],
    taskPath: (jobId) => `/images/generations/${jobId}`,
    uploadPath: '/uploads/images',
    submitted: (jobId) => toapisTask(jobId, { status: 'queued', progress: 0, metadata: {} }),
    working: (jobId, status, progress) => toapisTask(jobId, { status, progress }),
    completed: (jobId, image, more = {}) => {
      const one = image?.startsWith('http') === true ? { url: image } : { b64_json: image };
      const data = image === undefined ? [] : [one];
      return toapisTask(jobId, { status: 'completed', progress: 100, result: { type: 'image', data }, ...more });
    },
    failed: (jobId, code, message = 'It failed.') =>
      toapisTask(jobId, { status: 'failed', progress: 0, error: { code, message } }),
    cancelled: (jobId) => toapisTask(jobId, { status: 'cancelled', progress: 0 }),
    refused: (status, type, message = 'No.', headers) =>
      json({ error: { code: status, message, type } }, status, headers),
    unknownJob: () => json({ code: 'task_not_exist', message: 'task not exist' }, 400),
    uploaded: (url) =>
      json({ success: true, message: 'uploaded', data: { id: 'image_123', url, mime_type: 'image/png' } }),
  },
};

export interface JobVendor {
  /** With /v1, like a configured base URL. */
  readonly url: string;
  readonly shapes: Shapes;
  readonly calls: readonly UpstreamCall[];
  /** URL of the finished image. */
  readonly imageUrl: string;
  /** Responses from now on; what is left out succeeds. Polls get `looks` in order, and the last one repeats. */
  plan(plan?: { submit?: Script; looks?: readonly Script[]; upload?: Script; file?: readonly Script[] }): void;
  close(): Promise<void>;
}

/** A vendor that checks the key, accepts jobs, and finishes each at the third poll. */
export async function startJobVendor(type: VendorType, key: string, jobId: string, png: Buffer): Promise<JobVendor> {
  const upstream = await startUpstream();
  const shapes = SHAPES[type];
  const imageUrl = upstream.url.replace('/v1', '/generated/1.png');
  const usual = {
    submit: shapes.submitted(jobId),
    looks: [
      shapes.working(jobId, shapes.words[0] ?? '', 0),
      shapes.working(jobId, shapes.words.at(-1) ?? '', 50),
      shapes.completed(jobId, imageUrl),
    ],
    file: [text(png, 'image/png')],
  };
  let looks = [...usual.looks];
  let files = [...usual.file];
  let { submit } = usual;
  let upload: Script | undefined;
  let uploads = 0;
  const next = (scripts: Script[]): Script | undefined => (scripts.length > 1 ? scripts.shift() : scripts[0]);

  function answerOf({ method, path, headers }: UpstreamCall): Script {
    if (method === 'GET' && path === new URL(imageUrl).pathname) return next(files) ?? json({}, 404);
    if (headers.authorization !== `Bearer ${key}`)
      return shapes.refused(401, 'authentication_error', 'Invalid API key');
    if (method === 'POST' && path === '/v1/images/generations') return submit;
    if (method === 'POST' && path === `/v1${shapes.uploadPath}`) {
      uploads += 1;
      return upload ?? shapes.uploaded(`https://files.example/${uploads}.png`);
    }
    if (method === 'GET' && path === `/v1${shapes.taskPath(jobId)}`) return next(looks) ?? json({}, 404);
    return method === 'GET' ? shapes.unknownJob() : json({ error: { message: 'Invalid URL' } }, 404);
  }
  upstream.script((call, response) => answerOf(call)(call, response));
  return {
    ...upstream,
    shapes,
    imageUrl,
    plan: (plan = {}) => {
      looks = [...(plan.looks ?? usual.looks)];
      files = [...(plan.file ?? usual.file)];
      submit = plan.submit ?? usual.submit;
      upload = plan.upload;
      uploads = 0;
    },
  };
}
