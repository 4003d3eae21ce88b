import { Module } from '@nestjs/common';
import { createObjectStore } from './create-object-store.js';
import { StorageConfig } from './storage.config.js';

/** Injection token of the ObjectStore: disk or S3, as the settings say. */
export const OBJECT_STORE = Symbol('object store');

const store = { provide: OBJECT_STORE, inject: [StorageConfig], useFactory: createObjectStore };

/** The store that the settings name: a folder, or S3. */
@Module({ providers: [store], exports: [store] })
export class StorageModule {}
