import { mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CatalogConfig } from '#catalog/catalog.config.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Logger } from '#telemetry/logger.js';

function serving(...models: string[]): string {
  const entries = models.map((name) => `  ${name}: { kind: image, routes: [{ provider: sandbox }] }\n`);
  return `providers:\n  sandbox: { type: sandbox }\nmodels:\n${entries.join('')}`;
}

describe('the catalog of a running process', () => {
  let folder: string;
  let file: string;
  let source: CatalogSource;
  let log = '';

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-catalog-'));
    file = join(folder, 'models.yaml');
    await writeFile(file, serving('first'));
    log = '';
    source = open({ MODELS_FILE: file });
    source.watch();
  });
  afterEach(async () => {
    source.close();
    await rm(folder, { recursive: true });
  });

  function open(env: Record<string, string>): CatalogSource {
    const [config] = loadConfig([CatalogConfig], env);
    return new CatalogSource(config, env, new Logger('test', 'info', { write: (line) => (log += line) }), 100);
  }

  const names = (): string[] => [...source.current.models.keys()];
  const untilServing = (...models: string[]): Promise<boolean> =>
    waitUntil(() => Promise.resolve(names().join() === models.join()), { timeoutMs: 20_000, everyMs: 20 });

  const untilLogged = (event: string): Promise<boolean> =>
    waitUntil(() => Promise.resolve(log.includes(event)), { timeoutMs: 20_000, everyMs: 20 });

  it('follows its file, whether it is written anew, replaced, or a link that points elsewhere', async () => {
    await writeFile(file, serving('first', 'second'));
    expect(await untilServing('first', 'second')).toBe(true);
    await writeFile(`${file}.new`, serving('third'));
    await rename(`${file}.new`, file);
    expect(await untilServing('third')).toBe(true);
    await writeFile(join(folder, 'other.yaml'), serving('fourth'));
    await unlink(file);
    await symlink(join(folder, 'other.yaml'), file);
    expect(await untilServing('fourth')).toBe(true);
  });

  it('keeps the old one whole while the file is wrong or gone', async () => {
    await writeFile(file, `${serving('first', 'second')}  third: { kind: image }\n`);
    // It may also be read, and refused, while it is still empty.
    expect(await untilLogged('models.third must have required property')).toBe(true);
    expect(log).toContain('catalog.refused');
    expect(names()).toEqual(['first']);
    await unlink(file);
    expect(await untilLogged('catalog.unreadable')).toBe(true);
    expect(names()).toEqual(['first']);
    await writeFile(file, serving('fourth'));
    expect(await untilServing('fourth')).toBe(true);
  });

  it('comes from the settings when there is no file', () => {
    expect(open({}).current.providers.has('sandbox')).toBe(true);
    expect(open({ OPENAI_API_KEY: 'sk-test' }).current.providers.get('openai')?.servers[0]?.keys).toEqual([
      { name: 'openai_api_key', secret: 'sk-test' },
    ]);
  });

  it('does not start with a wrong file', async () => {
    await writeFile(file, 'models: {}');
    expect(() => open({ MODELS_FILE: file })).toThrow(/models must NOT have fewer than 1 properties/);
  });
});
