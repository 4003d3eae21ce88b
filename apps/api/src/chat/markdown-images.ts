import { MAX_REFERENCE_IMAGES } from '#contract/image-reference.js';
import { LongText, startOf, type Text } from '#contract/long-text.js';

/** Where the data of an image begins in Markdown: `![name](data:...)`. */
const DATA = '](data:';
const LINKED = /!\[[^\]]*\]\(\s*<?(https?:\/\/[^)\s>]+)/gi;
/** Characters in which links are looked for. */
const MAX_TEXT = 131_072;

/** A text without the images that were in it as data, at most `characters` long, and these images. */
export function splitMarkdown(text: Text, characters: number): { text: string; images: Text[] } {
  const long = longTextOf(text);
  if (long === undefined || long.indexOf(DATA) === -1) return { text: startOf(text, characters), images: [] };
  const images: Text[] = [];
  let kept = '';
  let from = 0;
  for (let at = long.indexOf(DATA); at !== -1; at = long.indexOf(DATA, from)) {
    const end = long.indexOf(')', at);
    if (end === -1 || images.length > MAX_REFERENCE_IMAGES) break;
    const name = long.part(from, at).lastIndexOf('![');
    const title = long.part(at, end).indexOf(' ');
    images.push(long.part(at + 2, title === -1 ? end : at + title));
    kept += long.part(from, name === -1 ? at : from + name).start(characters);
    from = end + 1;
  }
  return { text: (kept + long.part(from).start(characters)).slice(0, characters), images };
}

/** All images of a text; `linked`: also those behind URLs, as image models answer. */
export function markdownImages(text: Text, linked: boolean): Text[] {
  const { text: rest, images } = splitMarkdown(text, MAX_TEXT);
  return linked ? [...images, ...[...rest.matchAll(LINKED)].flatMap(([, url]) => url ?? [])] : images;
}

/** The text as JSON bytes; undefined for a short one without data. */
function longTextOf(text: Text): LongText | undefined {
  if (text instanceof LongText) return text;
  return text.includes(DATA) ? new LongText(Buffer.from(JSON.stringify(text).slice(1, -1))) : undefined;
}
