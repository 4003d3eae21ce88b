import { loadConfig } from '#config/load-config.js';
import type { ImageProvider } from '#providers/image-provider.js';
import { WorkerConfig } from '../worker.config.js';
import { ProviderRegistry } from './provider-registry.js';
import { ShutdownGrace } from './shutdown-grace.js';

const provider = (name: string, longestCallMs?: number): ImageProvider => ({
  name,
  free: false,
  interrupted: 'fail',
  generate: () => Promise.reject(new Error('is not called')),
  ...(longestCallMs !== undefined && { longestCallMs }),
});

function shutdownGrace(env: Record<string, string>, ...providers: ImageProvider[]): ShutdownGrace {
  const registry = ProviderRegistry.of(new Map(providers.map((one) => [`model-of-${one.name}`, one])));
  return new ShutdownGrace(loadConfig([WorkerConfig] as const, env)[0], registry);
}

const graceOf = (...given: Parameters<typeof shutdownGrace>): number => shutdownGrace(...given).ms;

it('is what the slowest provider may take, and some time to store its image', () => {
  expect(graceOf({}, provider('quick', 60_000), provider('slow', 840_000), provider('sandbox'))).toBe(870_000);
  expect(graceOf({}, provider('sandbox'))).toBe(30_000);
});

it('is what the settings say, if they do', () => {
  expect(graceOf({ SHUTDOWN_GRACE_MS: '5000' }, provider('slow', 840_000))).toBe(5_000);
});

it('has a problem where the settings end it before the longest call, and names that call', () => {
  const quick = provider('quick', 60_000);
  const slow = provider('slow', 840_000);
  expect(shutdownGrace({}, quick, slow).problem).toBeUndefined();
  expect(shutdownGrace({ SHUTDOWN_GRACE_MS: '840000' }, quick, slow).problem).toBeUndefined();
  expect(shutdownGrace({ SHUTDOWN_GRACE_MS: '0' }, provider('sandbox')).problem).toBeUndefined();
  expect(shutdownGrace({ SHUTDOWN_GRACE_MS: '839999' }, quick, slow).problem).toBe(
    'SHUTDOWN_GRACE_MS is 839999, and a call of slow may take 840000 ms: a worker that stops cuts it off, though it may ' +
      'be paid for; give workers 870000, and 10 s more until they are killed',
  );
});
