import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { addressOf, dataUriStart } from '#contract/image-reference.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { contentTypeOf, CONVERTED_TYPES } from '#images/sniff.js';
import { resultOfFileName, uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { TaskInput } from '#tasks/row/task.js';
import { UploadRepository, type KnownUpload } from '#uploads/upload.repository.js';
import { UploadsConfig } from '../common/uploads.config.js';
import type { StoredFiles } from './asked.js';
import { decodeDataUri } from './data-uri.js';
import type { Order, Reference } from './decide-order.js';
import { InputUpload } from './input-upload.js';
import type { Bytes } from './store-input.js';

/** A checked reference: a finished input, or bytes that are not stored as an input yet. */
interface FoundReference {
  readonly param: string;
  readonly input?: TaskInput;
  readonly open?: () => Bytes | Promise<Bytes>;
}

/**
 * Resolves the images that requests refer to: data URIs, external URLs, and this service's own links, to the account's
 * uploads and to results.
 */
@Injectable()
export class ReferenceImages {
  constructor(
    @Inject(OBJECT_STORE) private readonly objects: ObjectStore,
    private readonly uploads: UploadRepository,
    private readonly signer: LinkSigner,
    private readonly egress: EgressConfig,
    private readonly limits: UploadsConfig,
  ) {}

  /** A new upload for the images of a task's request; they count in the quota of its account. */
  upload(taskId: string, accountId: string, signal: AbortSignal): InputUpload {
    return new InputUpload(this.objects, taskId, signal, {
      assertRoom: () => this.uploads.assertRoom(accountId, this.limits),
      count: (id, bytes) => this.uploads.countInputs({ taskId: id, accountId, bytes }, this.limits),
      forget: (id) => this.uploads.forgetInputs(id),
    });
  }

  /** The images of an order as inputs of its task. Throws AppError like `find` and `InputUpload.add`. */
  async store(images: Order['images'], upload: InputUpload, accountId: string): Promise<StoredFiles> {
    if (!('references' in images)) return images;
    const found = await this.find(images.references, accountId);
    const foundMask = images.mask === undefined ? [] : await this.find([images.mask], accountId);
    const inputs = await storeReferences(found, upload);
    const [mask = null] = await storeReferences(foundMask, upload, 'mask');
    return { images: inputs, mask: mask !== null && images.mask?.markup ? { ...mask, markup: true } : mask };
  }

  /**
   * Resolves each reference. External URLs get only a cheap check; the download checks again what their host resolves
   * to. Throws AppError: `invalid_image_url`, or `failed_to_download_image` for anything wrong with one of our links,
   * and `image_file_not_found` with an id, so that they reveal nothing about other accounts' images.
   */
  private async find(references: readonly Reference[], accountId: string): Promise<FoundReference[]> {
    const addresses = references.map(({ reference }) =>
      reference !== undefined && dataUriStart(reference) === undefined ? addressOf(reference) : undefined,
    );
    const named = addresses.map((address, index) =>
      address === undefined ? references[index]?.fileId : this.signer.uploadNamedBy(address),
    );
    const ids = named.filter((id) => typeof id === 'string');
    const kept = ids.length === 0 ? undefined : await this.uploads.find(accountId, ids);
    return references.map(({ reference, param, fileId }, index) => {
      const address = addresses[index];
      const id = named[index];
      if (fileId !== undefined) return { param, input: keptInput(fileId, kept, param, noSuchFile) };
      if (address === undefined) return { param, open: () => decodeDataUri(reference, param) };
      if (id !== undefined) return { param, input: keptInput(id, kept, param) };
      const result = this.signer.resultNamedBy(address);
      if (result !== undefined) return { param, open: this.resultOf(result, param) };
      const problem = publicUrlProblem(address, this.egress);
      if (problem !== undefined) throw new AppError('invalid_image_url', problem, { param });
      return { param, input: { kind: 'url', url: address, param } };
    });
  }

  /** Reads a result from the store, as its link would serve it: the API's own address is often a private one. */
  private resultOf(name: string | null, param: string): () => Promise<Bytes> {
    const result = name === null ? undefined : resultOfFileName(name);
    if (result === undefined) throw goneImage(param);
    return async () => {
      const stored = await this.objects.open(result.key).catch((cause: unknown) => {
        if (cause instanceof ObjectNotFound) throw goneImage(param);
        const text = 'The image cannot be read right now. Please try again shortly.';
        throw unavailable(text, { retryAfter: 5, cause });
      });
      return stored.stream as AsyncIterable<Buffer>;
    };
  }
}

/**
 * Stores data URIs and results one after the other, after the uploads among the references were counted; URLs stay URLs,
 * which the worker downloads. Throws AppError like `InputUpload.add`.
 */
async function storeReferences(
  found: readonly FoundReference[],
  upload: InputUpload,
  slot?: 'mask',
): Promise<TaskInput[]> {
  const inputs: TaskInput[] = [];
  for (const { input } of found) if (input?.kind === 'object') upload.refer(input);
  for (const [index, { param, input, open }] of found.entries()) {
    if (input !== undefined) inputs.push(input);
    else if (open !== undefined) inputs.push(await upload.add(await open(), slot ?? index, param));
  }
  return inputs;
}

/** Reads an upload from the store instead of its URL, because egress rules often forbid the API's own address. */
function keptInput(
  id: string | null,
  kept: ReadonlyMap<string, KnownUpload> | undefined,
  param: string,
  gone: (param: string) => AppError = goneImage,
): TaskInput {
  const known = id === null ? undefined : kept?.get(id);
  if (id === null || known === undefined) throw gone(param);
  const { bytes, pixels, contentType } = known;
  const convert = CONVERTED_TYPES.find((type) => contentTypeOf(type) === contentType);
  return {
    kind: 'object',
    key: uploadKey(id),
    bytes,
    param,
    ...(pixels !== null && { pixels }),
    ...(convert && { convert }),
  };
}

function noSuchFile(param: string): AppError {
  const text = 'There is no uploaded image with this id, or it has expired.';
  return new AppError('image_file_not_found', text, { param });
}

function goneImage(param: string): AppError {
  return new AppError('failed_to_download_image', 'The image could not be downloaded from its URL.', { param });
}
