import { taskView } from './task-view.js';

const created = new Date('2026-11-21T04:00:00.700Z');
const finished = new Date('2026-11-21T04:00:41.200Z');
const task = {
  id: 'task_1',
  requestId: 'req_1',
  action: 'generation',
  model: 'gpt-image-2',
  options: { resolution: '2k', quality: null, background: null },
  status: 'pending',
  phase: 'running',
  progress: 35,
  createdAt: created,
  startedAt: created,
  finishedAt: null,
  error: null,
  usage: null,
  images: null,
} as const;
const image = { contentType: 'image/png', width: 2048, height: 1152 };
const link = (): { url: string; expiresAt: number } => ({ url: 'https://a.example/i/x', expiresAt: 1_795_000_000 });

describe('taskView', () => {
  it('shows a running task as pending, with the detail in its phase and nothing of an end', () => {
    expect(taskView(task, link)).toEqual({
      id: 'task_1',
      status: 'pending',
      progress: 35,
      phase: 'running',
      model: 'gpt-image-2',
      type: 'image',
      action: 'generation',
      request_id: 'req_1',
      created: 1_795_233_600,
    });
  });

  it('shows 100 only when completed, and a completed task with its links and times', () => {
    expect(taskView({ ...task, progress: 100 }, link).progress).toBe(99);
    const view = taskView({ ...task, status: 'completed', phase: 'done', finishedAt: finished, images: [image] }, link);
    expect(view).toMatchObject({
      status: 'completed',
      progress: 100,
      phase: 'done',
      completed: 1_795_233_641,
      finished: 1_795_233_641,
      actual_time: 41,
    });
    expect(view.result?.images).toEqual([
      { url: ['https://a.example/i/x'], expires_at: 1_795_000_000, size: '2048x1152', content_type: 'image/png' },
    ]);
  });

  it('shows a failed task with its error and no result', () => {
    const error = {
      type: 'image_generation_user_error',
      code: 'moderation_blocked',
      message: 'No.',
      param: 'prompt',
      http_status: 400,
    } as const;
    const view = taskView({ ...task, status: 'failed', phase: 'done', finishedAt: finished, error }, link);
    expect(view).toMatchObject({ status: 'failed', progress: 35, phase: 'done', finished: 1_795_233_641, error });
    expect(view).not.toHaveProperty('completed');
    expect(view).not.toHaveProperty('result');
  });

  it('shows what was asked for, what came, and what had to be changed', () => {
    const adapted = { ...image, sizes: { sent: '1536x1024', received: '1500x1000' }, warnings: ['Fitted.'] };
    const done = { ...task, status: 'completed', finishedAt: finished, images: [adapted] } as const;
    const options = { ...task.options, pixels: { width: 2048, height: 1152 } };
    const view = taskView({ ...done, options }, link);
    expect(view).toMatchObject({
      sizes: { requested: '2048x1152', sent: '1536x1024', received: '1500x1000' },
      warnings: ['Fitted.'],
    });
    expect(taskView({ ...done, options: { ...options, pixels: null } }, link).sizes?.requested).toBe('auto');
    expect(taskView({ ...done, images: [image] }, link)).not.toHaveProperty('warnings');
  });

  it('says whether the image tells where it comes from, where that is known', () => {
    const done = { ...task, status: 'completed', finishedAt: finished } as const;
    for (const provenance of ['kept', 'marked', 'none'] as const) {
      expect(taskView({ ...done, images: [{ ...image, provenance }] }, link)).toMatchObject({ provenance });
    }
    expect(taskView({ ...done, images: [image] }, link)).not.toHaveProperty('provenance');
  });

  it('keeps an image whose life is over, without an address', () => {
    const gone = taskView({ ...task, status: 'completed', finishedAt: finished, images: [image] }, () => ({
      url: undefined,
      expiresAt: 1_795_000_000,
    }));
    expect(gone.result?.images[0]?.url).toEqual([]);
  });
});
