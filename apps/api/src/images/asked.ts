import type { ImageOptions, ImageReference } from '#contract/image-request.js';
import type { Text } from '#contract/long-text.js';
import type { SentNames } from '#contract/other-names.js';
import type { RequestMark } from '#tasks/intake/request-identity.js';
import type { TaskCommand, TaskInput } from '#tasks/row/task.js';
import type { HeaderLabels } from '../labels/request-labels.js';
import type { InputUpload } from './input-upload.js';

/** The fields of a request, in any form. */
export type ImageFields = ImageOptions & {
  model?: string;
  prompt: string;
  size?: string;
  quality?: string;
  /** Of edits. */
  input_fidelity?: string | null;
  callback_url?: string;
  /** Of generations. */
  image_urls?: readonly Text[];
  /** Of JSON edits. */
  images?: readonly ImageReference[];
  mask?: ImageReference;
  markup?: ImageReference;
};

/** The files of a form, which are stored as they arrive. */
export interface StoredFiles {
  readonly images: readonly TaskInput[];
  readonly mask: TaskInput | null;
}

/** What somebody asks for, however it was sent: as JSON, a form, a chat, or from the console. No rule is checked yet. */
export interface Asked {
  readonly action: TaskCommand['action'];
  /** An instance of the request class. */
  readonly fields: ImageFields;
  /** Names of what was sent besides, and has no effect. */
  readonly ignored: readonly string[];
  /** Their values, of which a model's catalog entry may know some. */
  readonly unknown: ReadonlyMap<string, unknown>;
  /** Undefined: the images are in the fields. */
  readonly files: StoredFiles | undefined;
  /** What the caller calls fields that it sent under other names. */
  readonly sentAs: SentNames;
  /** What the request's fingerprint covers. */
  readonly body: unknown;
  readonly mark: RequestMark;
  /** What its headers say about the end user and tags; absent: nothing. */
  readonly headerLabels?: HeaderLabels;
  /** Whether the caller asked for a task, to which some options do not apply. */
  readonly asksForTask: boolean;
  /** Whether the response is the task: it was asked for, or the API key says so. */
  readonly asynchronous: boolean;
  readonly requestId: string;
  /** The batch whose line it is; absent: none. */
  readonly batchId?: string;
  /** Releases the memory of the body, once its images are stored. */
  readonly release: () => void;
}

/** Reads a request. The files of a form go into `upload` on the way. Throws AppError. */
export type Ask = (upload: InputUpload) => Asked | Promise<Asked>;
