import { Inject, Injectable } from '@nestjs/common';
import { sha256Of } from '#bytes/bytes.js';
import { AppError } from '#contract/app-error.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { conversionText, mostPngBytes, notConverted } from '#images/conversion.js';
import { ImageError } from '#images/image-error.js';
import { readInputImage, readMarkup, readMask, type InputImage } from '#images/input-image.js';
import { MAX_REMOTE_IMAGE_BYTES, MAX_UPLOAD_BYTES, ReferenceTotal } from '#images/limits.js';
import { isConverted, type InputType } from '#images/sniff.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { readWhole } from '#storage/stored-stream.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import type { TaskInput } from '#tasks/row/task.js';
import { bytesOfInput, nameOfInput, type TaskHold } from './task-memory.js';

/** A task's input images for the provider's adapter, all in memory. */
export interface LoadedInputs {
  readonly images: readonly InputImage[];
  readonly mask: InputImage | undefined;
  /** Drawing over the first image. */
  readonly markup?: InputImage | undefined;
  /** What was done to them, as sentences for the task's warnings. */
  readonly adapted: readonly string[];
}

/** The images of a task that are loaded so far, each once. */
interface LoadedImages {
  readonly byName: Map<string, InputImage>;
  readonly byDigest: Map<string, InputImage>;
  /** Whether there are several images, of which some may be equal. */
  readonly mayRepeat: boolean;
  readonly total: ReferenceTotal;
  readonly hold: TaskHold;
  /** Whether an image that would be converted is refused. */
  readonly strict: boolean;
  readonly signal: AbortSignal;
}

/** Loads a task's reference images, and its mask or markup, from the store or from the caller's URLs. */
@Injectable()
export class LoadInputs {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly fetcher: PublicFetcher,
  ) {}

  /**
   * Loads one at a time: sixteen images at once would be a gigabyte of pixels. Equal images are loaded and decoded once.
   * Throws AppError with the request field of the bad image, StorageError, or NoMemoryFree.
   */
  async load(claimed: ClaimedTask, hold: TaskHold, signal: AbortSignal): Promise<LoadedInputs> {
    const total = new ReferenceTotal();
    const strict = claimed.task.options.strict === true;
    const mayRepeat = claimed.inputs.length > 1;
    const known = { byName: new Map(), byDigest: new Map(), mayRepeat };
    const loaded: LoadedImages = { ...known, total, hold, strict, signal };
    const images: InputImage[] = [];
    for (const input of claimed.inputs) images.push(await this.image(input, loaded));
    const [first] = images;
    const overlay =
      claimed.mask === null || first === undefined ? undefined : await this.overlay(claimed.mask, first, loaded);
    const different = [...new Set([...loaded.byName.values(), ...(overlay === undefined ? [] : [overlay])])];
    hold.loaded(different.reduce((sum, { bytes }) => sum + bytes.length, 0));
    const adapted = images.flatMap(({ convertedFrom }, index) => {
      const param = claimed.inputs[index]?.param ?? 'image';
      return convertedFrom === undefined ? [] : [conversionText(param, convertedFrom)];
    });
    return { images, ...inItsRole(overlay, claimed), adapted };
  }

  private async image(input: TaskInput, loaded: LoadedImages): Promise<InputImage> {
    const known = loaded.byName.get(nameOfInput(input));
    if (known === undefined) {
      const image = await this.decoded(input, loaded);
      loaded.byName.set(nameOfInput(input), image);
      return image;
    }
    blaming(input, () => {
      loaded.total.addBytes(known.bytes.length);
      loaded.total.addPixels(known.width * known.height);
    });
    return known;
  }

  private async decoded(input: TaskInput, loaded: LoadedImages): Promise<InputImage> {
    const { byDigest, total, signal } = loaded;
    const bytes = await this.read(input, signal);
    blaming(input, () => total.addBytes(bytes.length));
    const digest = loaded.mayRepeat ? await sha256Of(bytes) : '';
    const equal = byDigest.get(digest);
    if (equal !== undefined) {
      blaming(input, () => {
        total.addPixels(equal.width * equal.height);
        countConverted(equal, bytes, total);
      });
      return equal;
    }
    const image = await blame(input, () =>
      readInputImage(bytes, signal, (pixels, type) => admit(pixels, type, input, loaded)),
    );
    blaming(input, () => countConverted(image, bytes, total));
    if (loaded.mayRepeat) byDigest.set(digest, image);
    return image;
  }

  private async overlay(overlay: TaskInput, first: InputImage, loaded: LoadedImages): Promise<InputImage> {
    const { total, signal } = loaded;
    const bytes = await this.read(overlay, signal);
    blaming(overlay, () => total.addBytes(bytes.length));
    const read = overlay.markup === true ? readMarkup : readMask;
    return blame(overlay, () => read(bytes, first, signal, (pixels, type) => admit(pixels, type, overlay, loaded)));
  }

  private async read(input: TaskInput, signal: AbortSignal): Promise<Buffer> {
    signal.throwIfAborted();
    if (input.kind === 'object') {
      const stored = await this.store.open(input.key, { signal });
      if (stored.bytes <= MAX_UPLOAD_BYTES) return readWhole(stored);
      stored.stream.destroy();
      throw new Error('an input is larger than an upload may be');
    }
    return this.fetcher.get(input.url, { signal, maxBytes: MAX_REMOTE_IMAGE_BYTES }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      throw new AppError(error.code, error.message, { param: input.param, cause: error.cause });
    });
  }
}

/** A mask and markup are never sent together. */
export function inItsRole(
  overlay: InputImage | undefined,
  { mask }: Pick<ClaimedTask, 'mask'>,
): Pick<LoadedInputs, 'mask' | 'markup'> {
  return mask?.markup === true ? { mask: undefined, markup: overlay } : { mask: overlay };
}

/**
 * Before an image is decoded: counts its pixels, and takes what was not known when the task was claimed. Throws AppError
 * when it would be converted although the request is strict.
 */
function admit(pixels: number, type: InputType, input: TaskInput, { total, hold, strict }: LoadedImages): void {
  blaming(input, () => {
    total.addPixels(pixels);
    if (!isConverted(type)) return;
    if (strict) throw notConverted(type);
    hold.addInputBytes(mostPngBytes(pixels) - bytesOfInput(input));
  });
  const known = input.kind === 'object' ? (input.pixels ?? 0) : 0;
  if (pixels > known) hold.addPixels(pixels - known);
}

/** A converted image counts as large as it is sent. */
function countConverted(image: InputImage, original: Buffer, total: ReferenceTotal): void {
  if (image.convertedFrom !== undefined) total.addGrowth(image.bytes.length - original.length);
}

/** An unusable image is the caller's error, reported with its request field. */
async function blame<T>(input: TaskInput, check: () => Promise<T>): Promise<T> {
  return check().catch((error: unknown) => {
    throw blamed(input, error);
  });
}

/** Like `blame`, for checks that need no decoder. */
function blaming(input: TaskInput, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw blamed(input, error);
  }
}

function blamed(input: TaskInput, error: unknown): unknown {
  return error instanceof ImageError
    ? new AppError(error.code, error.message, { param: input.param, cause: error })
    : error;
}
