import { Inject, Injectable } from '@nestjs/common';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskObjects, type StoredTask } from '#tasks/retention/task-objects.js';
import { UploadRepository } from '#uploads/upload.repository.js';

const BATCH = 500;

/** An object that a row names, and whether the store lacks it. */
export interface NamedObject {
  readonly key: string;
  /** Id of the task or the upload. */
  readonly id: string;
  /** image, thumbnail: of an ended task; input: of a pending task, which will fail for it; upload. */
  readonly kind: 'image' | 'thumbnail' | 'input' | 'upload';
  readonly isMissing: boolean;
}

/** Finds and repairs rows whose objects are missing, as after a database restore without all objects. */
@Injectable()
export class MissingObjects {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly tasks: TaskObjects,
    private readonly uploads: UploadRepository,
  ) {}

  /** Looks up every object that a row names. Throws when the database or the store fails. */
  async *lookUp(): AsyncIterable<NamedObject> {
    let tasks = await this.tasks.page('', BATCH);
    while (tasks.length > 0) {
      for (const task of tasks) yield* this.objectsOf(task);
      tasks = await this.tasks.page(tasks.at(-1)?.id ?? '', BATCH);
    }
    let uploads = await this.uploads.page('', BATCH);
    while (uploads.length > 0) {
      for (const id of uploads) yield await this.looked(uploadKey(id), id, 'upload');
      uploads = await this.uploads.page(uploads.at(-1) ?? '', BATCH);
    }
  }

  /** Corrects the row. False for an input, which is settled only when its task ends. Throws when the database fails. */
  async repair({ id, kind }: NamedObject): Promise<boolean> {
    if (kind === 'image') await this.tasks.markDeleted(id);
    else if (kind === 'thumbnail') await this.tasks.markWithoutThumbnail(id);
    else if (kind === 'upload') await this.uploads.remove([id]);
    return kind !== 'input';
  }

  private async *objectsOf({ id, isPending, results, thumbnail, sent }: StoredTask): AsyncIterable<NamedObject> {
    for (const key of results) yield await this.looked(key, id, 'image');
    if (thumbnail !== undefined) yield await this.looked(thumbnail, id, 'thumbnail');
    // Inputs of an ended task are never read again.
    if (isPending) for (const key of sent) yield await this.looked(key, id, 'input');
  }

  private async looked(key: string, id: string, kind: NamedObject['kind']): Promise<NamedObject> {
    return { key, id, kind, isMissing: !(await this.exists(key)) };
  }

  private async exists(key: string): Promise<boolean> {
    try {
      const { stream } = await this.store.open(key);
      stream.destroy();
      return true;
    } catch (error) {
      if (error instanceof ObjectNotFound) return false;
      throw error;
    }
  }
}
