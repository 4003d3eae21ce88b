import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { gradientImage } from '#images/sample-images.fixture.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const SKILL = 'skills/darkroom/SKILL.md';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What agents read about the service, and then do. */
describe('what agents are told', () => {
  let platform: Platform;
  let document: Document;
  let skill: string;
  let folder: string;

  beforeAll(async () => {
    platform = await startPlatform();
    document = JSON.parse(await readFile('openapi.json', 'utf8')) as Document;
    skill = await readFile(SKILL, 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'darkroom-skill-'));
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The command below a heading of the skill; the last of several, or the one with this text. */
  function commandBelow(heading: string, part = ''): string {
    const section = skill.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? '';
    const commands = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, command = '']) => command);
    const found = commands.find((command) => command.includes(part));
    if (found === undefined) throw new Error(`${SKILL} has no such command below ${heading}`);
    return found;
  }

  /** Runs a command as an agent's shell does, and reads its answer. */
  async function run(command: string, variables: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const env = { PATH: process.env['PATH'], DARKROOM_URL: platform.url, DARKROOM_API_KEY: platform.key, ...variables };
    const shell = spawn('sh', ['-eu', '-c', command], { env, timeout: patient(60_000) });
    const [output, errors] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
    if (errors !== '') throw new Error(errors);
    return JSON.parse(output) as Answer;
  }

  interface Answer {
    readonly id?: string;
    readonly task_id?: string;
    readonly cost?: { readonly amount: string };
    readonly within_budget?: boolean;
    readonly data: {
      readonly status: string;
      readonly result?: { readonly images: readonly { readonly url: readonly string[] }[] };
    } & readonly { readonly id: string }[];
  }

  async function completed(id: string): Promise<string> {
    const poll = commandBelow('Wait and save', '?wait=');
    let answer = await run(poll, { TASK_ID: id });
    while (answer.data.status === 'pending') answer = await run(poll, { TASK_ID: id });
    expect(answer.data.status).toBe('completed');
    return answer.data.result?.images[0]?.url[0] ?? '';
  }

  it('in the skill works, command by command, and orders each image once', async () => {
    expect(await run(commandBelow('Ask for the price'))).toMatchObject({
      cost: { amount: '0.000000' },
      within_budget: true,
    });
    const order = commandBelow('Order', 'async');
    const { task_id: id = '' } = await run(order);
    expect((await run(order)).task_id).toBe(id);
    expect((await run(commandBelow('Order', '/v1/models'))).data.map((model) => model.id)).toContain('gpt-image-2');
    const url = await completed(id);
    expect((await fetch(url)).headers.get('content-type')).toBe('image/png');
    expect((await run(commandBelow('Wait and save', '?limit='))).data.map((task) => task.id)).toEqual([id]);
    const cancel = await run(commandBelow('Wait and save', '/cancel'), { TASK_ID: id });
    expect(cancel.data.status).toBe('completed');

    const edit = commandBelow('Edit', 'async');
    const { task_id: edited = '' } = await run(edit, { IMAGE_URL: url });
    expect(await completed(edited)).not.toBe('');
    const file = join(folder, 'a.png');
    await writeFile(file, await gradientImage(128, 128, 'png'));
    expect((await run(commandBelow('Edit', 'uploads'), { IMAGE_FILE: file })).id).toMatch(/^upload_/);
    const { rowCount } = await platform.pool.query('SELECT id FROM tasks');
    expect(rowCount).toBe(2);
  });

  it('in llms.txt names endpoints that exist, at the address of the service', async () => {
    const response = await platform.call('/llms.txt', { key: null });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const served = await response.text();
    expect(served).toContain(`${platform.url}/mcp`);
    const named = [...served.matchAll(/`(GET|POST) (\/v1\/[^`?]+)/g)];
    expect(named.length).toBeGreaterThan(8);
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${unnamed(path)}`),
    );
    for (const [, method = '', path = ''] of named) expect(described).toContain(`${method} ${unnamed(path)}`);
    const links = [...served.matchAll(/\]\((\S+?)\)/g)].map(([, link = '']) => link);
    for (const link of links) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
  });
});

/** A path with its parameters left unnamed. */
function unnamed(path: string): string {
  return path.replaceAll(/\{\w+\}/g, '{}');
}
