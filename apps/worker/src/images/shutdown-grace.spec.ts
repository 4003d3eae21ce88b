import { loadConfig } from '#config/load-config.js';
import type { ImageProvider } from '#providers/image-provider.js';
import { WorkerConfig } from '../worker.config.js';
import { ProviderRegistry } from './provider-registry.js';
import { ShutdownGrace } from './shutdown-grace.js';

const provider = (name: string, longestCallMs?: number): ImageProvider => ({
  ...{ name, free: false, interrupted: 'fail', generate: () => Promise.reject(new Error('is not called')) },
  ...(longestCallMs !== undefined && { longestCallMs }),
});

function graceOf(env: Record<string, string>, ...providers: ImageProvider[]): number {
  const registry = ProviderRegistry.of(new Map(providers.map((one) => [`model-of-${one.name}`, one])));
  return new ShutdownGrace(loadConfig([WorkerConfig] as const, env)[0], registry).ms;
}

it('is what the slowest provider may take, and some time to store its image', () => {
  expect(graceOf({}, provider('quick', 60_000), provider('slow', 840_000), provider('sandbox'))).toBe(870_000);
  expect(graceOf({}, provider('sandbox'))).toBe(30_000);
});

it('is what the settings say, if they do', () => {
  expect(graceOf({ SHUTDOWN_GRACE_MS: '5000' }, provider('slow', 840_000))).toBe(5_000);
});
