import { isTaskId, newRequestId, newTaskId } from './task-id.js';

describe('ids', () => {
  it('never repeat, and every one has the shape that is looked up', () => {
    const ids = Array.from({ length: 5_000 }, newTaskId);
    expect(new Set(ids).size).toBe(5_000);
    expect(ids.every(isTaskId)).toBe(true);
  });

  it('use all 32 digits in every random place', () => {
    const ids = Array.from({ length: 4_000 }, newTaskId);
    for (let place = 'task_'.length + 10; place < 'task_'.length + 26; place++) {
      expect(new Set(ids.map((id) => id[place])).size).toBe(32);
    }
  });

  it('of requests go up within one process', () => {
    const ids = Array.from({ length: 1_000 }, newRequestId);
    expect(ids).toEqual([...ids].sort());
    expect(ids[0]).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
  });

  it.each(['', 'task_', 'task_01jd0z8q4m0w3e5v6t7r8y9x0a', 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0', "task_' OR 1=1 --"])(
    '%j is no task id',
    (text) => {
      expect(isTaskId(text)).toBe(false);
    },
  );
});
