import { Module } from '@nestjs/common';
import { Metrics } from '#telemetry/metrics.js';
import { createObjectStore } from './create-object-store.js';
import { StorageConfig } from './storage.config.js';
import { TimedStore } from './timed-store.js';

/** Injection token of the configured ObjectStore. */
export const OBJECT_STORE = Symbol('object store');

const store = {
  provide: OBJECT_STORE,
  inject: [StorageConfig, Metrics],
  useFactory: async (config: StorageConfig, metrics: Metrics) =>
    new TimedStore(await createObjectStore(config), metrics),
};

/** Provides the configured store: disk or S3. */
@Module({ providers: [store], exports: [store] })
export class StorageModule {}
