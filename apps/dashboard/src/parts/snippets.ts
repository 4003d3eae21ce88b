/** What a picture's request says; the words of the public API. */
export interface SnippetRequest {
  readonly model: string;
  readonly prompt: string;
  readonly size: string;
  readonly resolution?: string;
  readonly quality?: string;
  /** Names of the files to edit; none: a new picture. */
  readonly files?: readonly string[];
}

export const EXAMPLE: SnippetRequest = {
  model: 'gpt-image-2',
  prompt: 'A lighthouse in the fog, film photograph',
  size: '1:1',
  resolution: '1k',
};

const SECRET = 'YOUR_KEY';

/** The same request for three kinds of reader; `secret` is filled in where it is known. */
export function snippetsOf(request: SnippetRequest, secret = SECRET, origin = location.origin): Record<string, string> {
  const edits = request.files !== undefined && request.files.length > 0;
  return edits ? editSnippets(request, secret, origin) : generationSnippets(request, secret, origin);
}

function fieldsOf({ model, prompt, size, resolution, quality }: SnippetRequest): [string, string][] {
  return Object.entries({ model, prompt, size, resolution, quality }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
}

/** Python's and JavaScript's quoted text are JSON's for what a prompt holds. */
const quote = (text: string): string => JSON.stringify(text);
const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function generationSnippets(request: SnippetRequest, secret: string, origin: string): Record<string, string> {
  const fields = fieldsOf(request);
  const extra = fields.filter(([name]) => name === 'resolution');
  const known = fields.filter(([name]) => name !== 'resolution');
  return {
    curl: `curl ${origin}/v1/images/generations \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -d ${shellQuote(JSON.stringify(Object.fromEntries(fields), null, 2).replaceAll('\n', '\n  '))}`,
    Node: `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: '${secret}',
});
const picture = await client.images.generate({
${fields.map(([name, value]) => `  ${name}: ${quote(value)},`).join('\n')}
});
console.log(picture.data[0].url);`,
    Python: `from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key="${secret}",
)
picture = client.images.generate(
${known.map(([name, value]) => `    ${name}=${quote(value)},`).join('\n')}${
      extra.length === 0 ? '' : `\n    extra_body=${JSON.stringify(Object.fromEntries(extra))},`
    }
)
print(picture.data[0].url)`,
  };
}

function editSnippets(request: SnippetRequest, secret: string, origin: string): Record<string, string> {
  const fields = fieldsOf(request);
  const files = request.files ?? [];
  const extra = fields.filter(([name]) => name === 'resolution');
  const known = fields.filter(([name]) => name !== 'resolution');
  return {
    curl: `curl ${origin}/v1/images/edits \\
  -H "Authorization: Bearer ${secret}" \\
${[
  ...files.map((file) => `  -F ${shellQuote(`image[]=@${file}`)}`),
  ...fields.map(([name, value]) => `  --form-string ${shellQuote(`${name}=${value}`)}`),
  '  -F response_format=url',
].join(' \\\n')}`,
    Node: `import fs from 'node:fs';
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${origin}/v1',
  apiKey: '${secret}',
});
const picture = await client.images.edit({
  image: [${files.map((file) => `fs.createReadStream(${quote(file)})`).join(', ')}],
${fields.map(([name, value]) => `  ${name}: ${quote(value)},`).join('\n')}
  response_format: 'url',
});
console.log(picture.data[0].url);`,
    Python: `from openai import OpenAI

client = OpenAI(
    base_url="${origin}/v1",
    api_key="${secret}",
)
picture = client.images.edit(
    image=[${files.map((file) => `open(${quote(file)}, "rb")`).join(', ')}],
${known.map(([name, value]) => `    ${name}=${quote(value)},`).join('\n')}
    response_format="url",${extra.length === 0 ? '' : `\n    extra_body=${JSON.stringify(Object.fromEntries(extra))},`}
)
print(picture.data[0].url)`,
  };
}
