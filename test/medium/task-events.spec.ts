import { waitUntil } from '#embedded/wait-until.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

describe('task events', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  it('are heard by those who listen for their kind, and say no more than the id where nothing else is told', async () => {
    const heard: string[] = [];
    room.listener.onSettled((taskId) => heard.push(`settled ${taskId}`));
    room.listener.onSettled((taskId) => heard.push(`settled too ${taskId}`));
    room.listener.onCancelled((taskId) => heard.push(`cancelled ${taskId}`));
    // An event that is published before the subscription stands is lost, as any may be.
    await waitUntil(
      () => {
        room.events.publishSettled('task_0');
        room.events.publishCancelled('task_0');
        return heard.includes('settled too task_0') && heard.includes('cancelled task_0');
      },
      { timeoutMs: 30_000 },
    );
    heard.length = 0;
    room.events.publishChanged('task_1');
    room.events.publishCancelled('task_2');
    room.events.publishSettled('task_3');
    await waitUntil(() => heard.includes('settled too task_3'), { timeoutMs: 30_000 });
    const expected = ['cancelled task_2', 'settled task_3', 'settled too task_3'];
    expect(heard.filter((line) => !line.endsWith('task_0'))).toEqual(expected);
  });
});
