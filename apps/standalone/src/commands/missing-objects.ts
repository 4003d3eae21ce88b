import { Inject, Injectable } from '@nestjs/common';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskObjects, type StoredTask } from '#tasks/retention/task-objects.js';
import { UploadRepository } from '#uploads/upload.repository.js';

const BATCH = 500;

/** A row that names an object missing from the store. */
export interface MissingObject {
  readonly key: string;
  /** Id of the task or the upload. */
  readonly id: string;
  /** image, thumbnail: of an ended task; input: of a pending task, which will fail for it; upload. */
  readonly kind: 'image' | 'thumbnail' | 'input' | 'upload';
}

/** Finds rows whose objects are missing, as after a database restore without all objects. */
@Injectable()
export class MissingObjects {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly tasks: TaskObjects,
    private readonly uploads: UploadRepository,
  ) {}

  /** Checks all rows that name objects. Throws when the database or the store fails. */
  async *find(): AsyncIterable<MissingObject> {
    let tasks = await this.tasks.page('', BATCH);
    while (tasks.length > 0) {
      for (const task of tasks) yield* this.missingOf(task);
      tasks = await this.tasks.page(tasks.at(-1)?.id ?? '', BATCH);
    }
    let uploads = await this.uploads.page('', BATCH);
    while (uploads.length > 0) {
      for (const id of uploads)
        if (!(await this.exists(uploadKey(id)))) yield { key: uploadKey(id), id, kind: 'upload' };
      uploads = await this.uploads.page(uploads.at(-1) ?? '', BATCH);
    }
  }

  /** Corrects the row. False for an input, which is settled only when its task ends. Throws when the database fails. */
  async repair({ id, kind }: MissingObject): Promise<boolean> {
    if (kind === 'image') await this.tasks.markDeleted(id);
    else if (kind === 'thumbnail') await this.tasks.markWithoutThumbnail(id);
    else if (kind === 'upload') await this.uploads.remove([id]);
    return kind !== 'input';
  }

  private async *missingOf({ id, isPending, results, thumbnail, sent }: StoredTask): AsyncIterable<MissingObject> {
    for (const key of results) if (!(await this.exists(key))) yield { key, id, kind: 'image' };
    if (thumbnail !== undefined && !(await this.exists(thumbnail))) yield { key: thumbnail, id, kind: 'thumbnail' };
    // Inputs of an ended task are never read again.
    if (isPending) for (const key of sent) if (!(await this.exists(key))) yield { key, id, kind: 'input' };
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
