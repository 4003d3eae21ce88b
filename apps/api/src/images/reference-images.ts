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
import type { TaskInput } from '#tasks/task.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { decodeDataUri } from './data-uri.js';
import { InputUpload } from './input-upload.js';

/** A checked reference: one that is an input already, or a data URI whose bytes are still to be stored. */
export interface FoundReference {
  readonly param: string;
  readonly reference: Text;
  readonly input: TaskInput | undefined;
}

/** The images that requests refer to: data URIs, addresses elsewhere, and links of the account's own uploads. */
@Injectable()
export class ReferenceImages {
  constructor(
    @Inject(OBJECT_STORE) private readonly objects: ObjectStore,
    private readonly uploads: UploadRepository,
    private readonly signer: LinkSigner,
    private readonly egress: EgressConfig,
  ) {}

  /** A place for what the request of a task brings along. */
  upload(taskId: string, signal: AbortSignal, digesting = false): InputUpload {
    return new InputUpload(this.objects, taskId, signal, digesting);
  }

  /**
   * What each reference is. Other people's addresses get a cheap look; whoever opens one checks again what its name
   * resolves to. Throws AppError: `invalid_image_url`, or `failed_to_download_image` for whatever is wrong with a link
   * of an upload, so that nothing can be learnt about those of others.
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

/** Data URIs go to the store one after the other; addresses stay addresses, which the worker opens. */
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

/** The stored object itself: an API's own address is often one that may not be fetched. */
function keptInput(id: string | null, kept: ReadonlyMap<string, number> | undefined, param: string): TaskInput {
  const bytes = id === null ? undefined : kept?.get(id);
  if (id === null || bytes === undefined) {
    throw new AppError('failed_to_download_image', 'The image could not be downloaded from its URL.', { param });
  }
  return { kind: 'object', key: uploadKey(id), bytes, param };
}
