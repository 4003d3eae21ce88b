import { Logger, type LogFields } from './logger.js';
import { redact } from './redact.js';

function linesOf(write: (logger: Logger) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  write(new Logger('test', 'debug', { write: (line: string) => lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('Logger', () => {
  it('writes one JSON line per event with service, level and time', () => {
    const [line] = linesOf((logger) => {
      logger.info('task.claimed', { taskId: 'task_1', attempt: 2 });
    });
    expect(line).toMatchObject({ level: 'info', service: 'test', event: 'task.claimed', taskId: 'task_1', attempt: 2 });
    expect(Date.parse(line?.['time'] as string)).not.toBeNaN();
  });

  it('drops every field that is not on the list, whoever passes it', () => {
    const [line] = linesOf((logger) => {
      logger.warn('task.failed', {
        taskId: 'task_1',
        prompt: 'canary',
        headers: { authorization: 'canary' },
      } as LogFields);
    });
    expect(JSON.stringify(line)).not.toContain('canary');
  });

  it('keeps class, message, code and causes of an error, without what it quotes', () => {
    const cause = Object.assign(new Error('connect postgresql://app:hunter2@db/x'), { code: 'ECONNREFUSED' });
    const [line] = linesOf((logger) => {
      logger.error('x', { error: new Error('call with Bearer sk-dr-abcdefghijklmnop failed', { cause }) });
    });
    expect(line?.['error']).toMatchObject({
      name: 'Error',
      message: 'call with Bearer [redacted] failed',
      cause: { message: 'connect postgresql://app:[redacted]@db/x', code: 'ECONNREFUSED' },
    });
    expect(JSON.stringify(line)).not.toMatch(/hunter2|abcdefghijklmnop/);
  });
});

describe('redact', () => {
  it.each([
    ['key sk-dr-0123456789abcdef.', 'key sk-[redacted].'],
    ['GET /i/a.png?exp=1&sig=abc123 done', 'GET /i/a.png?exp=1&sig=[redacted] done'],
    ['secret whsec_QUJDREVGRw==', 'secret whsec_[redacted]'],
    ['data:image/png;base64,iVBORw0KGgo= in a field', 'data:[redacted] in a field'],
    [`${'QUJD'.repeat(80)} bytes`, '[base64 redacted] bytes'],
    ['nothing to hide', 'nothing to hide'],
  ])('%s', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});
