import { ALERTS } from './alert-settings.js';
import { clearMinutes, isClear, levelOf, nextAlertStep, type OpenAlert } from './next-alert-step.js';

const NOW = new Date('2026-11-23T12:00:00Z');
const ago = (minutes: number): Date => new Date(NOW.getTime() - minutes * 60_000);
const rule = { ...ALERTS.budget.defaults, holdMinutes: 2, repeatHours: 4 };
const pending: OpenAlert = {
  state: 'pending',
  level: 0,
  startedAt: ago(1),
  notifiedAt: null,
  acknowledgedAt: null,
  clearSince: null,
  clearMinutes: 5,
};
const firing: OpenAlert = { ...pending, state: 'firing', level: 80, startedAt: ago(60), notifiedAt: ago(60) };
const step = (alert: OpenAlert, value: number, changed = rule) => nextAlertStep(alert, value, changed, NOW);

describe('nextAlertStep', () => {
  it.each([
    ['waits until it has lasted', pending, 55, 'none'],
    ['fires once it has', { ...pending, startedAt: ago(2) }, 55, 'fire'],
    ['forgets what was over before', { ...pending, startedAt: ago(2) }, 49, 'drop'],
    ['goes on in silence', firing, 85, 'none'],
    ['tells the next threshold', firing, 100, 'raise'],
    ['tells it while it was about to end, too', { ...firing, clearSince: ago(1) }, 100, 'raise'],
    ['does not tell a lower one', firing, 60, 'none'],
    ['is not over just below its lowest threshold', firing, 46, 'none'],
    ['begins to end', firing, 44, 'begin_clearing'],
    ['ends once it was clear for long enough', { ...firing, clearSince: ago(5) }, 0, 'resolve'],
    ['and not before', { ...firing, clearSince: ago(4.9) }, 0, 'none'],
    ['and later where it keeps coming back', { ...firing, clearSince: ago(5), clearMinutes: 10 }, 0, 'none'],
    ['goes on when it was clear for a moment', { ...firing, clearSince: ago(4) }, 47, 'stop_clearing'],
    ['is repeated after so many hours', { ...firing, notifiedAt: ago(240) }, 85, 'repeat'],
    ['and not before those', { ...firing, notifiedAt: ago(239) }, 85, 'none'],
    [
      'is not repeated once it is acknowledged',
      { ...firing, notifiedAt: ago(240), acknowledgedAt: ago(1) },
      85,
      'none',
    ],
    ['but tells the next threshold then, too', { ...firing, acknowledgedAt: ago(1) }, 100, 'raise'],
    ['and its end', { ...firing, acknowledgedAt: ago(1), clearSince: ago(5) }, 0, 'resolve'],
  ] as const)('%s', (_what, alert, value, expected) => {
    expect(step(alert, value)).toBe(expected);
  });

  it('is never repeated where that is 0', () => {
    expect(step({ ...firing, notifiedAt: ago(100_000) }, 85, { ...rule, repeatHours: 0 })).toBe('none');
  });
});

describe('levels', () => {
  it('are the highest threshold that is reached', () => {
    expect([49, 50, 99, 100, 120].map((value) => levelOf(value, [50, 80, 100]))).toEqual([0, 50, 80, 100, 100]);
    expect([44, 45].map((value) => isClear(value, [80, 50]))).toEqual([true, false]);
    expect([0, 1, 2, 3, 4, 20].map(clearMinutes)).toEqual([5, 10, 20, 40, 60, 60]);
  });
});
