// The deletion of tasks: by a filter, one by one, and by themselves.
import { latestErasures } from '#erasure/erasures.sql.js';
import { eraseDeliveries } from '#notifications/deliveries/erase-deliveries.js';
import { newUploadId } from '#tasks/row/task-id.js';
import { uploadKey } from '#storage/object-key.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';

/** Tasks of a page, as EraseMatching has it. */
const PAGE = 200;

/** As `recurring` answers. Deletes a task near the end of the history, so it comes last. */
export function recurringErasures({ database, events, tasksConfig, accountId, scope }, { near, middle }) {
  const deleted = new DeletedTasks(database, events, tasksConfig);
  const person = { personId: 'person_1', keyIds: ['key_1', 'key_rare1', 'key_none'] };
  const few = { personId: 'person_rare', keyIds: ['key_rare1', 'key_none'] };
  const key = { personId: null, keyIds: ['key_1'] };
  const later = `${middle.createdAt.toISOString()} ${middle.id}`;
  const match = (name, filter, own, cursor = null) => [
    `tasks/DeletedTasks.matching: ${name}`,
    () => deleted.matching({ accountId, own }, { before: new Date(), ...filter }, cursor, PAGE),
  ];
  return [
    match('all', {}),
    match('all, after the middle', {}, undefined, later),
    match('pending', { status: 'pending' }),
    match('pending, after the middle', { status: 'pending' }, undefined, later),
    match('failed', { status: 'failed' }),
    match('failed, after the middle', { status: 'failed' }, undefined, later),
    match('of a person', {}, person),
    match('of a person, after the middle', {}, person, later),
    match('pending, of a person', { status: 'pending' }, person),
    match('failed, of a person with few tasks', { status: 'failed' }, few),
    match('of a key that sees its own', {}, key),
    match('of a key that sees its own, after the middle', {}, key, later),
    match('of a tag, of a person', { tag: 'all' }, person),
    ['erasure/latestErasures', () => latestErasures(database, { accountId, own: few }, 20)],
    ['tasks/DeletedTasks.isUploadUnused', () => deleted.isUploadUnused(accountId, uploadKey(newUploadId()), near.id)],
    ['tasks/DeletedTasks.markExpired', () => deleted.markExpired(PAGE)],
    [
      'tasks/DeletedTasks: from the mark to the receipt',
      async () => {
        await deleted.mark([near.id]);
        await deleted.workerStopped({ id: near.id, attempt: 1 });
        await deleted.toErase(undefined, PAGE);
        await deleted.objectsOf(near.id);
        await eraseDeliveries(database, near.id);
        await deleted.finish(near.id, { images: 1, inputs: 0, uploads: 0, digest: '' });
        await deleted.erasureOf(scope, near.id);
        await deleted.isDeleted(near.id);
      },
    ],
  ];
}
