import { pipeline } from 'node:stream/promises';
import parser from 'stream-json/parser.js';
import type { ImageUsage } from '#contract/image-usage.js';
import type { ErrorFields } from '../http/failures.js';
import { tokenUsage } from '../http/token-usage.js';
import { Base64Sink } from './base64-sink.js';

/** What is taken out of one JSON document: an answer, an event of a stream, or an error. */
export interface AnswerDocument {
  /** Name of the event, in streams. */
  readonly type: string | undefined;
  /** The first picture, decoded, in pieces; undefined when it has none. */
  readonly picture: readonly Buffer[] | undefined;
  readonly url: string | undefined;
  readonly partialIndex: number | undefined;
  readonly error: ErrorFields | undefined;
  readonly usage: ImageUsage | undefined;
}

const MAX_DEPTH = 16;
const MAX_VALUES = 64;
const MAX_KEY_CHARACTERS = 64;
const MAX_TEXT_CHARACTERS = 8_192;
const PICTURES: ReadonlySet<string> = new Set(['b64_json', 'data.0.b64_json']);
const URL_PATH = 'data.0.url';
const WANTED = /^(type|partial_image_index|error\.(type|code|param)|data\.0\.url|usage\.[a-z_]+(\.[a-z_]+)?)$/;

/**
 * Reads JSON while it arrives: base64 is decoded piece by piece, and of everything else only what is wanted is kept.
 * Throws what the source throws, TooMuchBase64, or an Error when it is no JSON.
 */
export async function readDocument(source: AsyncIterable<Buffer>, maxPictureBytes: number): Promise<AnswerDocument> {
  const reading = new DocumentReader(maxPictureBytes);
  const tokens = parser.asStream({
    packValues: false,
    packNumbers: true,
    streamNumbers: false,
  });
  await pipeline(source, tokens, async (found: AsyncIterable<parser.Token>) => {
    for await (const token of found) reading.take(token);
  });
  return reading.document();
}

interface Frame {
  /** Undefined in arrays. */
  key: string | undefined;
  index: number;
}

class DocumentReader {
  private readonly frames: Frame[] = [];
  private readonly values = new Map<string, string | number>();
  private picture: Base64Sink | undefined;
  /** Some servers write an object, some a text. */
  private hasError = false;
  /** What the characters that come next belong to. */
  private target: { readonly path: string; text: string; sink: Base64Sink | undefined } | 'key' | undefined;

  constructor(private readonly maxPictureBytes: number) {}

  take({ name, value }: parser.Token): void {
    switch (name) {
      case 'startObject':
      case 'startArray':
        this.step();
        if (this.path() === 'error') this.hasError = true;
        if (this.frames.length === MAX_DEPTH) throw new Error('the JSON is nested too deeply');
        this.frames.push({ key: name === 'startObject' ? '' : undefined, index: -1 });
        break;
      case 'endObject':
      case 'endArray':
        this.frames.pop();
        break;
      case 'startKey':
        this.target = 'key';
        this.top().key = '';
        break;
      case 'startString':
        this.step();
        this.begin(this.path());
        break;
      case 'stringChunk':
        this.characters(String(value));
        break;
      case 'endKey':
        this.target = undefined;
        break;
      case 'endString':
        this.finish();
        break;
      default:
        this.step();
        if (name === 'numberValue') this.keep(this.path(), Number(value));
    }
  }

  document(): AnswerDocument {
    const text = (path: string): string | undefined => {
      const value = this.values.get(path);
      return value === undefined ? undefined : String(value);
    };
    const index = this.values.get('partial_image_index');
    return {
      type: text('type'),
      picture: this.picture === undefined || this.picture.bytes === 0 ? undefined : this.picture.pieces,
      url: this.picture === undefined ? text(URL_PATH) : undefined,
      partialIndex: typeof index === 'number' ? index : undefined,
      error: this.error(text),
      usage: tokenUsage((name) => this.values.get(`usage.${name}`)),
    };
  }

  private error(text: (path: string) => string | undefined): ErrorFields | undefined {
    const [type, code, param] = [text('error.type'), text('error.code'), text('error.param')];
    return this.hasError ? { type, code, param } : undefined;
  }

  private begin(path: string): void {
    if (path === 'error') this.hasError = true;
    const isPicture = PICTURES.has(path) && this.picture === undefined;
    if (isPicture) this.picture = new Base64Sink(this.maxPictureBytes);
    this.target = { path, text: '', sink: isPicture ? this.picture : undefined };
  }

  private characters(text: string): void {
    const { target } = this;
    if (target === undefined) return;
    if (target === 'key') {
      const top = this.top();
      top.key = `${top.key ?? ''}${text}`.slice(0, MAX_KEY_CHARACTERS);
      return;
    }
    // A picture in the place of its address.
    if (target.path === URL_PATH && target.text === '' && text.startsWith('data:') && this.picture === undefined) {
      target.sink = this.picture = new Base64Sink(this.maxPictureBytes);
    }
    if (target.sink !== undefined) target.sink.write(text);
    else if (target.text.length < MAX_TEXT_CHARACTERS) target.text += text;
  }

  private finish(): void {
    const { target } = this;
    this.target = undefined;
    if (target === undefined || target === 'key') return;
    if (target.sink === undefined) this.keep(target.path, target.text);
    else target.sink.end();
  }

  private keep(path: string, value: string | number): void {
    if (WANTED.test(path) && this.values.size < MAX_VALUES) this.values.set(path, value);
  }

  /** A value begins: in an array it has the next index. */
  private step(): void {
    const top = this.frames.at(-1);
    if (top?.key === undefined && top !== undefined) top.index += 1;
  }

  private path(): string {
    return this.frames.map(({ key, index }) => key ?? index).join('.');
  }

  private top(): Frame {
    const top = this.frames.at(-1);
    if (top === undefined) throw new Error('the JSON has a key without an object');
    return top;
  }
}
