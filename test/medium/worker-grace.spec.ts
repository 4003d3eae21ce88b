import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConsoleEntries } from '#catalog/catalog-schema.js';
import { RevisionRepository } from '#catalog/revision.repository.js';
import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { workerGrace } from '../../apps/standalone/src/commands/grace-check.js';
import { Inconclusive } from '../../apps/standalone/src/commands/inconclusive.js';
import { StandaloneConfig } from '../../apps/standalone/src/platform/standalone.config.js';
import { openPrisma } from '../support/open-prisma.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

const FILE = `
providers:
  house: { type: sandbox }
  near: { type: openai, base_url: "http://near.example/v1", options: { total_timeout_ms: 900000 } }
models:
  poster: { kind: image, routes: [{ provider: house }, { provider: near }] }
`;

describe('the grace of workers, as doctor sees it', () => {
  let test: TestDatabase;
  let database: PrismaService;
  let folder: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    test = await createTestDatabase();
    database = openPrisma(test.url);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-grace-'));
    const modelsFile = join(folder, 'models.yaml');
    await writeFile(modelsFile, FILE);
    env = { MODELS_FILE: modelsFile, DATA_DIR: folder };
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
    await rm(folder, { recursive: true });
  });

  const look = (graceMs: number, more: Record<string, string> = {}): Promise<string> => {
    const all = { ...env, ...more };
    return workerGrace(graceMs, loadConfig([StandaloneConfig], all)[0], all, database);
  };
  const add = async (number: number, providers: ConsoleEntries['providers']): Promise<void> => {
    const change = { action: 'provider.added', target: 'far', author: 'ada@example.org' };
    const entries = { providers, models: {} };
    expect(await new RevisionRepository(database).append({ number, entries }, change, [])).toBe(true);
  };

  it('reaches the longest call of models.yaml, or is no failure and says what it must be', async () => {
    expect(await look(900_000)).toBe('900000 ms; the longest call takes 900000 ms at most (near)');
    await expect(look(870_000)).rejects.toThrow(Inconclusive);
    await expect(look(870_000)).rejects.toThrow(/a call of near may take 900000 ms.*give workers 930000/);
  });

  it('reaches what the settings say of the built-in catalog', async () => {
    const builtIn = { MODELS_FILE: '', OPENAI_API_KEY: 'sk-test', OPENAI_TOTAL_TIMEOUT_MS: '1000000' };
    await expect(look(870_000, builtIn)).rejects.toThrow(/a call of openai may take 1000000 ms/);
    expect(await look(0, { MODELS_FILE: '' })).toBe('no call needs any');
  });

  it('reaches what the console adds, but for what workers leave out', async () => {
    // Where uploads go must be said of a server that is not the vendor's own.
    const unusable = { type: 'evolink', base_url: 'http://far.example', keys: [{ env: 'KEY' }], options: {} };
    await add(1, { far: { ...unusable, options: { timeout_ms: 600_000 } } });
    expect(await look(900_000)).toContain('(near)');
    await add(2, {
      far: { type: 'openai', base_url: 'http://far.example/v1', options: { total_timeout_ms: 1_800_000 } },
    });
    await expect(look(900_000)).rejects.toThrow(/a call of far may take 1800000 ms.*give workers 1830000/);
  });
});
