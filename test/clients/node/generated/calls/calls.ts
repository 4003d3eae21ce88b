/** An image of an answer: a link, the bytes, or both. */
export interface Image {
  readonly url?: string;
  readonly b64_json?: string;
}

/** What every generated client is asked to do; each call resolves with its image and throws anything else. */
export interface Calls {
  generate(prompt: string): Promise<Image>;
  /** Edits images that are sent as JSON: links, or data URLs. */
  edit(prompt: string, imageUrls: readonly string[]): Promise<Image>;
  /** Edits images that are sent as files of a form. */
  editFiles(prompt: string, images: readonly File[], mask: File): Promise<Image>;
  /** Uploads an image; resolves with its link. */
  upload(image: File): Promise<string>;
  /** Generates an image without waiting, and polls its task. */
  poll(prompt: string): Promise<Image>;
}

export const MODEL = 'gpt-image-2';
/** Seconds that a poll may wait. */
export const WAIT = 30;

/** The first image of an answer to a call that waits, which could also be an acceptance or a quote. */
export function firstImage(answer: object): Image {
  if (!isImages(answer)) throw unexpected(answer);
  return answer.data[0] ?? {};
}

/** Anything but the answer that a call is made for. */
export function unexpected(answer: unknown): Error {
  return new Error(JSON.stringify(answer));
}

function isImages(answer: object): answer is { data: Image[] } {
  return 'created' in answer && 'data' in answer;
}
