// What the scripts of all clients share: each reads a job, runs the steps that its client has side by side, and prints
// as JSON what every step came to. The job is the script's last argument.
import { File } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Tries of a caller whose client gives up when the window ends. */
const MAX_TRIES = 6;

/** `{ url, key, prompts, images, mask }`: the address with /v1, and a prompt for each step that generates an image. */
export const job = JSON.parse(process.argv.at(-1));
/** What stands between the script and the job: which version, or which of the client's packages. */
export const variant = process.argv[2];

/** A PNG of the job, as a file with its name and type. */
export function fileOf(path) {
  return new File([readFileSync(path)], basename(path), { type: 'image/png' });
}

/** The version that is installed beside the script. */
export function versionOf(script, name) {
  return JSON.parse(readFileSync(join(script, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** Runs the steps side by side and prints the outcomes; an error is an outcome. */
export async function report(version, steps) {
  const outcomes = await Promise.all(
    Object.entries(steps).map(async ([name, step]) => [name, await step().catch(described)]),
  );
  process.stdout.write(JSON.stringify({ version, steps: Object.fromEntries(outcomes) }));
}

/** The image of an item with `url`, `b64_json`, or both, each of which has to lead to it. */
export async function imageOf({ url, b64_json: text }) {
  const links = url === undefined ? {} : { link: sizeOf(await download(url)) };
  return { ...links, ...(text === undefined ? {} : { base64: sizeOf(Buffer.from(text, 'base64')) }) };
}

/** Loads a link as a browser does, without a key. */
export async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} of ${url}`);
  return Buffer.from(await response.arrayBuffer());
}

/** `png 1024x1024`; throws for what is no PNG. */
export function sizeOf(bytes) {
  const png = Buffer.from(bytes);
  if (png.toString('latin1', 1, 4) !== 'PNG') throw new Error('not a PNG');
  return `png ${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`;
}

/** Calls as a person does who tries again when the client gives up with a 504. */
export async function insist(call) {
  for (let tries = 1; ; tries++) {
    try {
      return { ...(await call()), tries };
    } catch (error) {
      if (statusOf(error) !== 504 || tries === MAX_TRIES) throw error;
    }
  }
}

/** What a caller can tell from an error. */
function described(error) {
  const name = error.name === 'Error' ? error.constructor.name : error.name;
  return { error: name, status: statusOf(error), code: codeOf(error), message: error.message };
}

function statusOf(error) {
  return error.status ?? error.statusCode ?? error.lastError?.statusCode;
}

function codeOf(error) {
  return error.code ?? error.data?.error?.code;
}
