import { resolve } from 'node:path';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { describeWith } from '../support/optional.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { installedPythons, runScript } from './clients.js';

interface Told {
  readonly isError: boolean;
  readonly facts: Readonly<Record<string, unknown>> & { readonly id?: string };
  readonly kinds: readonly string[];
}
interface Report {
  readonly tools: readonly string[];
  readonly progress: readonly number[];
  readonly first: Told;
  readonly again: Told;
  readonly read: Told;
  readonly wrong: Told;
}

const installed = Object.entries(installedPythons()).filter(([name]) => name.startsWith('mcp-'));

// That of TypeScript is tested in test/e2e.
describeWith(installed.length > 0, 'Python’s MCP SDK is not installed: its test is left out.')(
  'the official MCP SDK of Python',
  () => {
    let provider: LedgerProvider;
    let platform: Platform;
    const prompts = { legacy: newMarker(), modern: newMarker() };

    beforeAll(async () => {
      provider = await LedgerProvider.start();
      platform = await startPlatform({ OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url });
    });
    afterAll(async () => {
      await platform.close();
      await provider.close();
    });

    it.each(installed)('generates an image once in both generations of the protocol: %s', async (name, interpreter) => {
      const command = [interpreter, resolve('test', 'clients', 'python', 'mcp_client.py')] as const;
      const job = { url: platform.url, key: platform.key, prompts, images: [], mask: '' };
      const reports = (await runScript(name, command, job)) as Readonly<Record<'legacy' | 'modern', Report>>;
      for (const generation of ['legacy', 'modern'] as const) {
        const { tools, progress, first, again, read, wrong } = reports[generation];
        expect(tools).toContain('generate_image');
        expect(progress.length).toBeGreaterThan(0);
        expect(first).toMatchObject({ isError: false, facts: { status: 'completed' } });
        expect(first.kinds).toEqual(['text', 'resource_link', 'image']);
        const { id } = first.facts;
        expect(again.facts).toMatchObject({ id, status: 'completed', attached: true });
        expect(read.facts).toMatchObject({ id, status: 'completed' });
        expect(wrong).toMatchObject({ isError: true, facts: { error: { code: 'invalid_value', param: 'quality' } } });
        expect(provider.startsOf(prompts[generation])).toHaveLength(1);
      }
    });
  },
);
