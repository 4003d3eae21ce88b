// What is done about requests that need an approval.
import { ApproveTask } from '#tasks/states/approve-task.js';
import { HeldTasks } from '#tasks/reading/held-tasks.js';

const HOUR_MS = 3_600_000;
const APPROVAL = { above: 0, deadlineMs: 900_000 };
const DECIDER = { id: 'person_2' };
/** What follows an end is measured where tasks end. */
const NO_ENDS = { failed: () => undefined };
const NO_INPUTS = { drop: () => Promise.resolve() };

/** As `recurring` answers; `command` makes an order, and `take` accepts it. */
export function recurringApprovals(
  { database, store, queue, slots, events, logger, departed, intake, accountId, scope },
  requests,
) {
  const { command, take, unkeyed, equal } = requests;
  const held = new HeldTasks(database);
  const health = { reportFailure: () => undefined };
  const decide = new ApproveTask(database, store, queue, health, slots, events, NO_ENDS, NO_INPUTS, logger);
  const hold = async () => (await intake.take(command({ approval: APPROVAL }), 24 * HOUR_MS)).task.id;
  return [
    ['tasks/HeldTasks.list', () => held.list(accountId, 100)],
    ['tasks/HeldTasks.figures', () => held.figures(accountId)],
    ['tasks/HeldTasks.anyUnfinished', () => held.anyUnfinished()],
    [
      'tasks/HeldTasks: from the accounts to tell to the mark',
      async () => {
        await held.accountsToTell();
        await held.markTold(accountId);
      },
    ],
    ['tasks/ApproveTask.approve', async () => decide.approve(scope, await hold(), DECIDER)],
    ['tasks/ApproveTask.reject', async () => decide.reject(scope, await hold(), DECIDER, 'no')],
    [
      'tasks/TaskIntake.take: equal to others, and needs an approval, then none any more',
      async () => {
        const { task } = await take(unkeyed(equal), { asynchronous: false, approval: APPROVAL });
        await take(unkeyed(equal), { asynchronous: false, approval: APPROVAL });
        await take(unkeyed(equal), { asynchronous: false });
        await departed.markDelivered([task.id]);
      },
    ],
  ];
}
