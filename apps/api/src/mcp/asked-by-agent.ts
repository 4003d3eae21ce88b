import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { MAX_REFERENCE_IMAGES, UPLOAD_ID } from '#contract/image-reference.js';
import { LongText, type Text } from '#contract/long-text.js';
import { TaskLinks } from '#answers/task-links.js';
import type { RequestMark } from '#tasks/intake/request-identity.js';
import { isTaskId } from '#tasks/row/task-id.js';
import type { TaskCommand } from '#tasks/row/task.js';
import type { Asked } from '../images/asked.js';
import { ReadRequest } from '../images/read-request.js';
import { keyOf } from '../images/request-mark.js';
import { CallerModels } from '../models/caller-models.js';
import { FindTask } from './find-task.js';
import type { Arguments, McpCall } from './mcp-call.js';
import { defaultModel } from './tools.js';

/** Arguments that say how to answer, and not what to generate. */
const ABOUT_THE_CALL = new Set(['idempotency_key', 'full']);
const KEY = 'idempotency_key';

/** Reads the arguments of a tool as an image request. What they may say is decided where all requests are read. */
@Injectable()
export class AskedByAgent {
  constructor(
    private readonly read: ReadRequest,
    private readonly models: CallerModels,
    private readonly tasks: FindTask,
    private readonly links: TaskLinks,
  ) {}

  /** Throws AppError, also for an image that is the id of an unknown task. */
  async asked(action: TaskCommand['action'], call: McpCall, args: Arguments): Promise<Asked> {
    const mark = markOf(args[KEY]);
    const given = Object.fromEntries(Object.entries(args).filter(([name]) => !ABOUT_THE_CALL.has(name)));
    const names = this.models
      .of(call.caller)
      .flatMap(({ id, supported_endpoint_types: types }) => (types.includes('image-generation') ? [id] : []));
    const fields = { model: defaultModel(names), ...withoutNulls(given) };
    const asked =
      action === 'edit'
        ? this.read.jsonEdit(call.request, true, await this.withReferences(fields, call))
        : this.read.generation(call.request, true, fields);
    // Links to results are signed anew each time, so what was sent is compared, and not what it stands for.
    return { ...asked, mark, body: { tool: action, arguments: given } };
  }

  private async withReferences(fields: Arguments, call: McpCall): Promise<Arguments> {
    const { images, mask, ...others } = fields;
    // Too many are refused by number, before one of them is looked up.
    const isList = Array.isArray(images) && images.length <= MAX_REFERENCE_IMAGES;
    const references = isList
      ? await Promise.all(images.map((one, index) => this.reference(one, `images[${index}]`, call)))
      : images;
    return {
      ...others,
      images: references,
      ...(mask === undefined ? {} : { mask: await this.reference(mask, 'mask', call) }),
    };
  }

  /** What is neither an id nor a text is left to the request's own rules. */
  private async reference(value: unknown, param: string, call: McpCall): Promise<unknown> {
    if (typeof value !== 'string' && !(value instanceof LongText)) return value;
    const text: Text = value;
    if (typeof text !== 'string' || !/^(?:task|upload)_/.test(text)) return { image_url: text };
    if (UPLOAD_ID.test(text)) return { file_id: text };
    if (!isTaskId(text))
      throw new AppError('image_file_not_found', `${param} is no id of a task or upload.`, { param });
    const task = await this.tasks.named(call.caller, text);
    const [image] = task.status === 'completed' ? (task.images ?? []) : [];
    const url = image && this.links.linkTo(task, image).url;
    if (url !== undefined) return { image_url: url };
    const state = task.status === 'pending' ? 'is not ready yet: call get_image first' : 'has no image';
    throw new AppError('image_file_not_found', `The task in ${param} ${state}.`, { param });
  }
}

/**
 * Agents repeat calls without a word, so each call without a key counts as the repetition of an equal one whose result
 * was not delivered.
 */
function markOf(key: unknown): RequestMark {
  if (key === undefined || key === null) return { kind: 'unkeyed', retry: 1, counted: true };
  if (typeof key !== 'string') throw new AppError('invalid_type', `${KEY} must be a string`, { param: KEY });
  return { kind: 'keyed', key: keyOf(key, KEY) };
}

function withoutNulls(fields: Arguments): Arguments {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
