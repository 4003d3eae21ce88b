import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { becomes, giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { saidUnless } from '../support/optional.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const PROMPT = `It's a "quoted" $HOME \`ls\` \\ prompt,\nin two lines; & ümläüts 🦊 <b>%s</b> !1`;
const NASTY = `Ada's "best" picture, no. 1; $HOME \\ (2).png`;
const run = promisify(execFile);

const hasPython = saidUnless(
  await run('python3', ['--version']).then(
    () => true,
    () => false,
  ),
  'No python3 was found: the Python code that the console prints is not compiled.',
);

/** What the console prints as code is run just as it is printed, with curl, Node and, as far as its syntax, Python. */
describe('code that the console shows', () => {
  let platform: Platform;
  let screen: Screen;
  let folder: string;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-code-'));
    await symlink(resolve('tools', 'node_modules'), join(folder, 'node_modules'));
    await writeFile(
      join(folder, 'models.yaml'),
      `currency: EUR
providers:
  sandbox: { type: sandbox }
models:
  house-style: { kind: image, routes: [{ provider: sandbox }], prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }] }
  vivid-9: { kind: image, accepts: { qualities: [xhigh, max], sizes: [16:9, 1:1] }, routes: [{ provider: sandbox }] }
`,
    );
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    screen = await openScreen(platform.url);
    await giveSession(screen, (await signInFirstAdmin(platform)).cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    expect(screen.troubles).toEqual([]);
  });

  /** The three examples on the page, as they would be copied. */
  async function printed(): Promise<{ curl: string; Node: string; Python: string }> {
    const texts: string[] = [];
    for (const name of ['curl', 'Node', 'Python']) {
      await page().getByRole('tab', { name }).click();
      texts.push((await page().getByLabel(`${name} example`, { exact: true }).textContent())!);
    }
    const [curl = '', Node = '', Python = ''] = texts;
    return { curl, Node, Python };
  }

  async function runCurl(code: string): Promise<{ data: { url?: string; task_id?: string }[] }> {
    const { stdout } = await run('bash', ['-c', code], { cwd: folder, timeout: patient(120_000) });
    return JSON.parse(stdout) as { data: { url: string }[] };
  }

  async function runNode(code: string): Promise<string> {
    await writeFile(join(folder, 'example.mjs'), code);
    return (await run(process.execPath, ['example.mjs'], { cwd: folder, timeout: patient(120_000) })).stdout.trim();
  }

  async function compilePython(code: string): Promise<void> {
    if (!hasPython) return;
    await writeFile(join(folder, 'example.py'), code);
    await run('python3', ['-m', 'py_compile', 'example.py'], { cwd: folder, timeout: patient(120_000) });
  }

  async function expectImage(url: string | undefined): Promise<void> {
    const answer = await fetch(url ?? '');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
    await answer.body?.cancel();
  }

  /** The newest tasks, as many as were just made. */
  async function tasks(count: number): Promise<unknown[]> {
    const { rows } = await platform.pool.query<Record<string, unknown>>(
      `SELECT action, prompt, jsonb_array_length(inputs) AS inputs, mask IS NOT NULL AS masked, status FROM tasks
       ORDER BY created_at DESC, id DESC LIMIT $1`,
      [count],
    );
    return rows;
  }

  async function makeKey(name: string, more: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    await page().goto('/console/keys');
    await button('Create key').first().click();
    await page().getByRole('textbox', { name: 'Name' }).fill(name);
    await more();
    await button('Create key').last().click();
    await page().getByTestId('secret').waitFor();
  }

  const pick = async (field: string, option: string): Promise<void> => {
    await button('Client compatibility').click();
    await page().getByRole('combobox', { name: field }).click();
    await page().getByRole('option', { name: option }).click();
  };

  it('shows amounts in the currency of the installation', async () => {
    await page().goto('/console/keys');
    await button('Create key').first().click();
    const budget = page().getByRole('textbox', { name: 'Budget' });
    await budget.fill('1250');
    expect(await budget.inputValue()).toBe('€1,250');
    await page().getByRole('textbox', { name: 'Name' }).fill('in euros');
    await button('Create key').last().click();
    await button('I’ve saved it').click();
    await page().getByText('€0.00 of €1,250.00').waitFor();
    await page().goto('/console/usage');
    await page().getByRole('region', { name: 'Budgets' }).getByText('€0.00 of €1,250.00').waitFor();
    await page().getByRole('radiogroup', { name: 'Group by' }).waitFor();
    expect(await page().getByText('Group by', { exact: true }).isVisible()).toBe(true);
    // On a phone, no figure is cut off.
    await page().setViewportSize({ width: 390, height: 844 });
    const isWhole = `[...document.querySelectorAll('[aria-label="Budgets"] td')].every((cell) => cell.getBoundingClientRect().right <= innerWidth)`;
    expect(await waitUntil(() => page().evaluate<boolean>(isWhole), { timeoutMs: 30_000 })).toBe(true);
    await page().setViewportSize({ width: 1280, height: 860 });
  });

  it('runs as it is printed with a new key', async () => {
    await makeKey('plain');
    const { curl, Node, Python } = await printed();
    await expectImage((await runCurl(curl)).data[0]?.url);
    await expectImage(await runNode(Node));
    await compilePython(Python);
    expect(await tasks(2)).toEqual(
      Array(2).fill(expect.objectContaining({ action: 'generation', status: 'completed' })),
    );
  });

  it('says what to enter in a client, with the new key and a model that it may use', async () => {
    await makeKey('clients');
    const secret = (await page().getByTestId('secret').textContent()) ?? '';
    const select = page().getByRole('combobox', { name: 'Set up a client' });
    await select.click();
    await page().getByRole('option', { name: 'Open WebUI' }).click();
    const fields = page().getByRole('table', { name: 'Open WebUI settings' }).getByRole('row');
    await becomes(
      () => fields.allTextContents(),
      [
        'EngineOpen AI',
        `API Base URL${platform.url}/v1`,
        `API Key${secret}`,
        'Modelhouse-style',
        'Image Size1024x1024, or another <width>x<height>',
      ],
    );
    expect(await screen.inspect('key-client-setup')).toEqual([]);
    await select.click();
    await page().getByRole('option', { name: 'LibreChat' }).click();
    expect(await page().getByLabel('LibreChat settings', { exact: true }).textContent()).toBe(
      `IMAGE_GEN_OAI_BASEURL=${platform.url}/v1\nIMAGE_GEN_OAI_API_KEY=${secret}\nIMAGE_GEN_OAI_MODEL=house-style`,
    );
  });

  it('runs with keys that are answered in base64 or with a task', async () => {
    await makeKey('base64', () => pick('Response format', 'Base64 (b64_json)'));
    const base64 = await printed();
    await expectImage((await runCurl(base64.curl)).data[0]?.url);
    await expectImage(await runNode(base64.Node));
    await compilePython(base64.Python);
    await makeKey('apimart', () => pick('Respond with', 'Task to poll (APIMart)'));
    const apimart = await printed();
    expect((await runCurl(apimart.curl)).data[0]?.task_id).toMatch(/^task_/);
    expect(await runNode(apimart.Node)).toMatch(/task_id: 'task_/);
    await compilePython(apimart.Python);
  });

  it('runs as it is printed in the playground, for a new image', async () => {
    await page().goto('/console/playground');
    await page().getByLabel('Prompt').fill(PROMPT);
    await button('Show code').click();
    const { curl, Node, Python } = filledIn(await printed());
    await expectImage((await runCurl(curl)).data[0]?.url);
    await expectImage(await runNode(Node));
    await compilePython(Python);
    expect(await tasks(2)).toEqual(Array(2).fill(expect.objectContaining({ action: 'generation', prompt: PROMPT })));
  });

  it('asks for what the chosen model accepts', async () => {
    const choose = async (field: string, option: string): Promise<void> => {
      await page().getByRole('combobox', { name: field }).click();
      await page().getByRole('option', { name: option, exact: true }).click();
    };
    await page().goto('/console/playground');
    await choose('Model', 'vivid-9');
    await page().getByRole('combobox', { name: 'Quality' }).click();
    await becomes(() => page().getByRole('option').allTextContents(), ['xhigh', 'max']);
    await page().getByRole('option', { name: 'max' }).click();
    await page().getByLabel('Prompt').fill(PROMPT);
    await button('Show code').click();
    const { curl } = await printed();
    expect(curl).toContain('"quality": "max"');
    await choose('Model', 'house-style');
    expect((await printed()).curl).toContain('"quality": "auto"');
  });

  it('runs as it is printed in the playground, for an edit of several images with a mask', async () => {
    await page().goto('/console/playground');
    const names = [NASTY, 'blue.png', 'blue.png'];
    const images = await Promise.all(names.map((_, index) => gradientImage(256 + index, 256, 'png')));
    await page()
      .locator('input[type=file]')
      .setInputFiles(names.map((name, index) => ({ name, mimeType: 'image/png', buffer: images[index]! })));
    for (const [index, name] of [NASTY, 'blue.png', 'blue-2.png'].entries())
      await writeFile(join(folder, name), images[index]!);
    await button('Paint over image').click();
    const box = (await page().locator('canvas[width="256"]').boundingBox())!;
    await page().mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
    await page().mouse.down();
    await page().mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.6, { steps: 5 });
    await page().mouse.up();
    await button('Use mask').click();
    await page().getByLabel('Prompt').fill(PROMPT);
    await button('Show code').click();
    const [mask] = await Promise.all([
      page().waitForEvent('download'),
      page().getByText('save it as mask.png').click(),
    ]);
    await mask.saveAs(join(folder, mask.suggestedFilename()));
    expect(await screen.inspect('playground-edit-as-code')).toEqual([]);
    const { curl, Node, Python } = filledIn(await printed());
    await expectImage((await runCurl(curl)).data[0]?.url);
    await expectImage(await runNode(Node));
    await compilePython(Python);
    const edit = { action: 'edit', prompt: PROMPT, inputs: 3, masked: true, status: 'completed' };
    expect(await tasks(2)).toEqual([edit, edit]);
  });

  it('names the files of an edit on its task’s page', async () => {
    const { rows } = await platform.pool.query<{ id: string }>(
      'SELECT id FROM tasks ORDER BY created_at DESC, id DESC LIMIT 1',
    );
    await page().goto(`/console/tasks/${rows[0]!.id}`);
    const { curl } = await printed();
    for (const name of ['image-1.png', 'image-2.png', 'image-3.png', 'mask.png']) expect(curl).toContain(`@${name}'`);
  });

  /** The playground knows no secret; this is all that a reader has to fill in. */
  function filledIn(codes: Awaited<ReturnType<typeof printed>>): typeof codes {
    const fill = (code: string): string => {
      expect(code.split('YOUR_KEY')).toHaveLength(2);
      return code.replace('YOUR_KEY', platform.key);
    };
    return { curl: fill(codes.curl), Node: fill(codes.Node), Python: fill(codes.Python) };
  }
});
