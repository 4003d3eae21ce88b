/** In characters; file managers cut longer names. */
const MAX_WORDS = 40;

interface NamedImage {
  readonly taskId: string;
  readonly prompt: string;
  /** `image/<format>`. */
  readonly contentType: string;
  /** Position among the images of its task, from 0. */
  readonly index: number;
  /** Number of images of its task. */
  readonly count: number;
}

/**
 * The file name for saving an image: the first words of its prompt, the end of its task's id, which tells equal prompts
 * apart, and its number if the task has several: `a-red-fox-in-the-snow-x4k9qz-2.png`.
 */
export function imageFileName({ taskId, prompt, contentType, index, count }: NamedImage): string {
  const place = count > 1 ? `-${index + 1}` : '';
  const type = contentType.slice(contentType.indexOf('/') + 1).replace('+xml', '');
  return `${wordsOf(prompt) || 'image'}-${taskId.slice(-6).toLowerCase()}${place}.${type}`;
}

function wordsOf(prompt: string): string {
  const text = prompt
    .slice(0, 8 * MAX_WORDS)
    .normalize('NFKC')
    .toLowerCase();
  const words = text.replace(/['’]/g, '').match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  let name = '';
  for (const word of words) {
    const longer = name === '' ? Array.from(word).slice(0, MAX_WORDS).join('') : `${name}-${word}`;
    if (longer.length > MAX_WORDS && name !== '') break;
    name = longer;
  }
  return name;
}
