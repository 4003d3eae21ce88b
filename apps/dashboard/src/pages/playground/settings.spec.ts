import type { Model, TaskDetail } from '../../api/types.ts';
import { choicesOf, fitted, orderOf, settingsOf, START } from './settings.ts';

const MOVING = {
  id: 'moving',
  frames: true,
  transparency: true,
  capabilities: { sizes: ['1:1'], output_formats: ['png', 'gif'], complexities: ['low', 'high'] },
  limits: {},
} as unknown as Model;
const STILL = { ...MOVING, id: 'still', frames: false, capabilities: { output_formats: ['png', 'gif'] } } as Model;

describe('the settings of an order', () => {
  const chosen = { ...START, output_format: 'gif', complexity: 'high', frame_count: '4', frame_duration_ms: '100' };

  it('have frames for a GIF of a model that draws them, and a complexity for one that plans', () => {
    const settings = fitted(chosen, choicesOf(MOVING, false, chosen));
    expect(orderOf('a fox', settings, undefined)).toMatchObject({
      output_format: 'gif',
      complexity: 'high',
      frame_count: 4,
      frame_duration_ms: 100,
    });
  });

  it.each([
    ['another format', MOVING, { ...chosen, output_format: 'png' }],
    ['another model', STILL, chosen],
  ])('have no frames for %s', (_name, model, wanted) => {
    const order = orderOf('a fox', fitted(wanted, choicesOf(model, false, wanted)), undefined);
    expect(order).not.toHaveProperty('frame_count');
    expect(order).not.toHaveProperty('frame_duration_ms');
  });

  it('leave to the provider what nobody chose', () => {
    const order = orderOf('a fox', fitted(START, choicesOf(MOVING, false, START)), undefined);
    expect(order).not.toHaveProperty('complexity');
  });

  it('are those of a task that is opened again', () => {
    const options = { output_format: 'gif', complexity: 'low', frame_count: 9, frame_duration_ms: 200 };
    const task = { model: 'moving', size: '1:1', resolution: '1k', options } as unknown as TaskDetail;
    expect(settingsOf(task, START)).toMatchObject({
      output_format: 'gif',
      complexity: 'low',
      frame_count: '9',
      frame_duration_ms: '200',
    });
  });

  it('have the fields that only this model has, within its bounds, and none of another one', () => {
    const extra = {
      seed: { type: 'integer', min: 0, max: 99 },
      guidance: { type: 'number', min: 0, max: 20 },
      sampler: { type: 'string', enum: ['euler', 'ddim'] },
      negative_prompt: { type: 'string', max_length: 10 },
      tiling: { type: 'boolean' },
    };
    const model = { ...MOVING, capabilities: { ...MOVING.capabilities, extra } } as Model;
    const orderWith = (texts: Record<string, string>, of = model) => {
      const wanted = { ...START, extra: texts };
      const choices = choicesOf(of, false, wanted);
      return orderOf('a fox', fitted(wanted, choices), undefined, choices.extra).extra;
    };
    const asked = { seed: '7', guidance: '3.5', sampler: 'ddim', negative_prompt: 'blur', tiling: 'false' };
    const values = { seed: 7, guidance: 3.5, sampler: 'ddim', negative_prompt: 'blur', tiling: false };
    expect(orderWith(asked)).toEqual(values);
    expect(
      orderWith({ seed: '100', guidance: '-1', sampler: 'dpm', negative_prompt: 'x'.repeat(11), tiling: '' }),
    ).toEqual({});
    expect(orderWith({ seed: '1.5' })).toEqual({});
    expect(orderWith(asked, STILL)).toEqual({});
    const options = { output_format: 'png', ...values };
    const task = { model: 'moving', size: '1:1', resolution: '1k', options } as unknown as TaskDetail;
    expect(orderWith(settingsOf(task, START).extra as Record<string, string>)).toEqual(values);
  });
});
