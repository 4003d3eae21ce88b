import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { addressOf, dataUriStart } from '#contract/image-reference.js';
import type { Text } from '#contract/long-text.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { uploadKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { TaskInput } from '#tasks/row/task.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { decodeDataUri } from './data-uri.js';
import { InputUpload } from './input-upload.js';

/** A checked reference: a finished input, or a data URI whose bytes are not stored yet. */
export interface FoundReference {
  readonly param: string;
  readonly reference: Text;
  readonly input: TaskInput | undefined;
}

/** Resolves the images that requests refer to: data URIs, external URLs, and links of the account's own uploads. */
@Injectable()
export class ReferenceImages {
  constructor(
    @Inject(OBJECT_STORE) private readonly objects: ObjectStore,
    private readonly uploads: UploadRepository,
    private readonly signer: LinkSigner,
    private readonly egress: EgressConfig,
  ) {}

  /** A new upload for the images of a task's request. */
  upload(taskId: string, signal: AbortSignal, digesting = false): InputUpload {
    return new InputUpload(this.objects, taskId, signal, digesting);
  }

  /**
   * Resolves each reference. External URLs get only a cheap check; the download checks again what their host resolves
   * to. Throws AppError: `invalid_image_url`, or `failed_to_download_image` for anything wrong with an upload's link,
   * so that it reveals nothing about other accounts' uploads.
   */
  async find(
    references: readonly Text[],
    accountId: string,
    paramOf: (index: number) => string,
  ): Promise<FoundReference[]> {
    const addresses = references.map((reference) =>
      dataUriStart(reference) === undefined ? addressOf(reference) : undefined,
    );
    const named = addresses.map((address) => (address === undefined ? undefined : this.signer.uploadNamedBy(address)));
    const ids = named.filter((id) => typeof id === 'string');
    const kept = ids.length === 0 ? undefined : await this.uploads.find(accountId, ids);
    return references.map((reference, index) => {
      const [address, id, param] = [addresses[index], named[index], paramOf(index)];
      if (address === undefined) return { param, reference, input: undefined };
      if (id !== undefined) return { param, reference, input: keptInput(id, kept, param) };
      const problem = publicUrlProblem(address, this.egress);
      if (problem !== undefined) throw new AppError('invalid_image_url', problem, { param });
      return { param, reference, input: { kind: 'url', url: address, param } };
    });
  }
}

/** Stores data URIs one after the other; URLs stay URLs, which the worker downloads. */
export async function storeReferences(
  found: readonly FoundReference[],
  upload: InputUpload,
  slot?: 'mask',
): Promise<TaskInput[]> {
  const inputs: TaskInput[] = [];
  for (const [index, { reference, param, input }] of found.entries()) {
    inputs.push(input ?? (await upload.add(decodeDataUri(reference, param), slot ?? index, param)));
  }
  return inputs;
}

/** Reads an upload from the store instead of its URL, because egress rules often forbid the API's own address. */
function keptInput(id: string | null, kept: ReadonlyMap<string, number> | undefined, param: string): TaskInput {
  const bytes = id === null ? undefined : kept?.get(id);
  if (id === null || bytes === undefined) {
    throw new AppError('failed_to_download_image', 'The image could not be downloaded from its URL.', { param });
  }
  return { kind: 'object', key: uploadKey(id), bytes, param };
}
