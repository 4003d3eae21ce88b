import { serviceUrl } from '../api/place.ts';

type Value = string | number | boolean;

/** The parameters of an image request, named as in the public API. */
export interface SnippetRequest {
  readonly model: string;
  readonly prompt: string;
  readonly size: string;
  readonly resolution?: string;
  readonly quality?: string;
  /** Number of images, if more than one. */
  readonly n?: number;
  /** Further options, by their names in the API. */
  readonly options?: Readonly<Record<string, string | number>>;
  /** Fields that only this model has. */
  readonly extra?: Readonly<Record<string, Value>>;
  /** Names of the files to edit; none: a generation. */
  readonly files?: readonly string[];
  /** What lies over the first of the files. */
  readonly overlay?: 'mask' | 'markup';
  /** The key gets a task as response instead of an image. */
  readonly answeredByTask?: boolean;
}

export const EXAMPLE: SnippetRequest = {
  model: 'gpt-image-2',
  prompt: 'A lighthouse in the fog, film photograph',
  size: '1:1',
  resolution: '1k',
};

/** The file name under which a painted mask or markup is saved. */
export const overlayFile = (kind: 'mask' | 'markup'): string => `${kind}.png`;
const SECRET = 'YOUR_KEY';

/** The same request in three languages; `secret` is filled in if known. */
export function snippetsOf(request: SnippetRequest, secret = SECRET, service = serviceUrl()): Record<string, string> {
  const edits = request.files !== undefined && request.files.length > 0;
  const isOne = (request.n ?? 1) === 1;
  const answer = request.answeredByTask === true ? 'data[0]' : 'data[0].url';
  const parts = edits ? editOf(request) : generationOf(request);
  return {
    curl: `curl ${service}/v1/images/${edits ? 'edits' : 'generations'} \\
  -H "Authorization: Bearer ${secret}" \\
${parts.curl}`,
    Node: `${edits ? "import fs from 'node:fs';\n" : ''}import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${service}/v1',
  apiKey: '${secret}',
});
const image = await client.images.${edits ? 'edit' : 'generate'}({
${parts.Node.map((line) => `  ${line},`).join('\n')}
});
${isOne ? `console.log(image.${answer});` : 'for (const { url } of image.data) console.log(url);'}`,
    Python: `from openai import OpenAI

client = OpenAI(
    base_url="${service}/v1",
    api_key="${secret}",
)
image = client.images.${edits ? 'edit' : 'generate'}(
${parts.Python.map((line) => `    ${line},`).join('\n')}
)
${isOne ? `print(image.${answer})` : 'for item in image.data:\n    print(item.url)'}`,
  };
}

/** Unique names for files in one folder: pasted images all have the same name. */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>([overlayFile('mask'), overlayFile('markup')]);
  return names.map((name) => {
    const dot = name.lastIndexOf('.');
    const [stem, type] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
    let distinct = name;
    for (let n = 2; taken.has(distinct); n++) distinct = `${stem}-${n}${type}`;
    taken.add(distinct);
    return distinct;
  });
}

type Field = [name: string, value: Value];

interface RequestParts {
  readonly curl: string;
  readonly Node: readonly string[];
  readonly Python: readonly string[];
}

function generationOf(request: SnippetRequest): RequestParts {
  const fields = fieldsOf(request);
  const body = JSON.stringify(Object.fromEntries(fields), null, 2).replaceAll('\n', '\n  ');
  return {
    curl: `  -H "Content-Type: application/json" \\\n  -d ${shellQuote(body)}`,
    Node: fields.map(([name, value]) => `${name}: ${quote(value)}`),
    Python: pythonFields(fields, request),
  };
}

function editOf(request: SnippetRequest): RequestParts {
  const fields = fieldsOf(request);
  const { files = [], overlay } = request;
  const over = overlay === undefined ? [] : [[overlay, overlayFile(overlay)] as const];
  const read = (file: string): string => `fs.createReadStream(${quote(file)})`;
  const open = (file: string): string => `open(${quote(file)}, "rb")`;
  return {
    curl: [
      ...files.map((file) => `  -F ${shellQuote(`image[]=@${curlQuote(file)}`)}`),
      ...over.map(([name, file]) => `  -F ${shellQuote(`${name}=@${curlQuote(file)}`)}`),
      ...fields.map(([name, value]) => `  --form-string ${shellQuote(`${name}=${value}`)}`),
    ].join(' \\\n'),
    Node: [
      `image: [${files.map(read).join(', ')}]`,
      ...over.map(([name, file]) => `${name}: ${read(file)}`),
      ...fields.map(([name, value]) => `${name}: ${quote(value)}`),
    ],
    Python: [
      `image=[${files.map(open).join(', ')}]`,
      ...over.map(([name, file]) => `${name}=${open(file)}`),
      ...pythonFields(fields, request),
    ],
  };
}

/** Requests a URL, because the samples print it and the defaults of keys and deployments differ. */
function fieldsOf({ model, prompt, size, resolution, quality, n, options, extra }: SnippetRequest): Field[] {
  const images = n === 1 ? undefined : n;
  const all: Record<string, Value | undefined> = {
    model,
    prompt,
    size,
    resolution,
    quality,
    n: images,
    ...options,
    ...extra,
    response_format: 'url',
  };
  return Object.entries(all).filter((entry): entry is Field => entry[1] !== undefined && entry[1] !== '');
}

/** The Python client passes parameters unknown to OpenAI only as `extra_body`. */
function pythonFields(fields: readonly Field[], { extra = {} }: SnippetRequest): string[] {
  const isUnknown = ([name]: Field): boolean => name === 'resolution' || Object.hasOwn(extra, name);
  const unknown = fields.filter(isUnknown).map(([name, value]) => `${quote(name)}:${pythonValue(value)}`);
  const known = fields.filter((field) => !isUnknown(field));
  return [
    ...known.map(([name, value]) => `${name}=${quote(value)}`),
    ...(unknown.length === 0 ? [] : [`extra_body={${unknown.join(',')}}`]),
  ];
}

function pythonValue(value: Value): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : quote(value);
}

/** For prompts and file names, string literals of Python and JavaScript are the same as in JSON. */
const quote = (value: Value): string => JSON.stringify(value);
const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** In curl's forms, commas, semicolons and quotation marks have special meanings. */
const curlQuote = (file: string): string =>
  /^[\w.-]+$/.test(file) ? file : `"${file.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
