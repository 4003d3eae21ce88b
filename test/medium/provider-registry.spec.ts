import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogConfig } from '#catalog/catalog.config.js';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { adapterProblems, loadAdapters, type MakeProvider } from '#providers/descriptors.js';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { openAiSettings } from '#providers/openai/openai-settings.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { Logger } from '#telemetry/logger.js';

const ENV = { KEY_A: 'secret-a', KEY_B: 'secret-b' };

/** Two providers; `options` are those of the first. */
function file(options = '{}', more = ''): string {
  return `providers:
  one: { type: openai, base_url: "http://one.example/v1", keys: [{ env: KEY_A }, { env: KEY_B }], options: ${options} }
  two: { type: openai, base_url: "http://two.example/v1", keys: [{ env: KEY_A }] }
models:
  poster: { kind: image, routes: [{ provider: one }, { provider: two }] }
${more}`;
}

describe('the adapters of the catalog', () => {
  let folder: string;
  let path: string;
  let source: CatalogSource;
  let log = '';
  const env = { OPENAI_STREAM: 'false', OPENAI_PROJECT: 'ours' };
  const [openai] = loadConfig([OpenAiConfig], env);
  let make: MakeProvider;
  beforeAll(async () => {
    make = await loadAdapters({
      settings: (of) => loadConfig([of], env)[0],
      fetcher: { get: () => Promise.reject(new Error('not here')) },
    });
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-registry-'));
    path = join(folder, 'models.yaml');
    await writeFile(path, file());
    const [config] = loadConfig([CatalogConfig], { MODELS_FILE: path });
    log = '';
    source = new CatalogSource(config, ENV, new Logger('test', 'info', { write: (line) => (log += line) }), 100);
    source.watch();
  });
  afterEach(async () => {
    source.close();
    await rm(folder, { recursive: true });
  });

  function entry(name: string): ProviderEntry {
    const found = source.current.providers.get(name)?.servers[0];
    if (found === undefined) throw new Error(`no provider ${name}`);
    return found;
  }

  async function rewrite(text: string): Promise<void> {
    const before = source.current;
    await writeFile(path, text);
    const changed = await waitUntil(() => Promise.resolve(source.current !== before), {
      timeoutMs: 20_000,
      everyMs: 20,
    });
    expect(changed).toBe(true);
  }

  it('are one for each key, and stay while their entry stays the same', async () => {
    const registry = new ProviderRegistry(source, make);
    const of = (name: string, index: number) => registry.imageProvider(entry(name), entry(name).keys[index]);
    const before = [of('one', 0), of('one', 1), of('two', 0)];
    expect(new Set(before).size).toBe(3);
    await rewrite(file('{}', '# another line\n'));
    expect([of('one', 0), of('one', 1), of('two', 0)]).toEqual(before);
    expect(of('one', 0)).toBe(before[0]);
    await rewrite(file('{ stream: true }'));
    expect(of('one', 0)).not.toBe(before[0]);
    expect(of('two', 0)).toBe(before[2]);
  });

  it('take from the settings what their entry leaves open, but no account of another server', async () => {
    const settings = (name: string, options: object = {}) =>
      openAiSettings({ ...entry(name), options: { ...options } }, entry(name).keys[0], openai);
    expect(settings('two')).toMatchObject({ stream: false, project: undefined });
    const headers = await settings('two').credentials?.headers(new AbortController().signal);
    expect(headers).toEqual({ authorization: 'Bearer secret-a' });
    expect(settings('two', { stream: true, total_timeout_ms: 5_000 })).toMatchObject({
      stream: true,
      totalTimeoutMs: 5_000,
      baseUrl: 'http://two.example/v1',
    });
    const ours = openAiSettings({ ...entry('one'), baseUrl: 'https://api.openai.com/v1' }, undefined, openai);
    expect(ours).toMatchObject({ project: 'ours' });
    expect(await ours.credentials?.headers(new AbortController().signal)).toEqual({});
  });

  it('refuse a catalog of which they can’t be made, and say which option is wrong', async () => {
    source.check(({ providers }) => adapterProblems(providers.values(), make));
    const before = source.current;
    await writeFile(path, file('{ stream: "perhaps" }'));
    // It may also be read, and refused, while it is still empty.
    const told = (problem: string): Promise<boolean> =>
      waitUntil(() => log.includes(problem), { timeoutMs: 20_000, everyMs: 20 });
    expect(await told('providers.one.options.stream must be boolean')).toBe(true);
    expect(log).toContain('catalog.refused');
    expect(source.current).toBe(before);
    await rewrite(file('{ stream: true }'));
    await writeFile(path, file('{ workflow: a.json }'));
    expect(await told('options.workflow is not known')).toBe(true);
    expect(() => source.check(() => [{ path: ['providers', 'one'], text: 'is not liked' }])).toThrow(
      'providers.one is not liked',
    );
  });
});
