import { imageFileName } from './image-file-name.js';

describe('the file name of an image', () => {
  const image = { taskId: 'task_01JZZZZZZZZZZZZZZZZZX4K9QZ', contentType: 'image/png', index: 0, count: 1 };
  const named = (prompt: string, more: Partial<Parameters<typeof imageFileName>[0]> = {}): string =>
    imageFileName({ ...image, prompt, ...more });

  it.each([
    ['A red fox', 'a-red-fox-x4k9qz.png'],
    ['A fox’s den, at night…', 'a-foxs-den-at-night-x4k9qz.png'],
    ['One two three four five six seven eight nine ten', 'one-two-three-four-five-six-seven-eight-x4k9qz.png'],
    ['Ein Fuchs über dem Fluß', 'ein-fuchs-über-dem-fluß-x4k9qz.png'],
    ['雪の中の赤い狐', '雪の中の赤い狐-x4k9qz.png'],
    ['x'.repeat(90), `${'x'.repeat(40)}-x4k9qz.png`],
    ['../../etc/passwd\u0000', 'etc-passwd-x4k9qz.png'],
    ['🦊 !?', 'image-x4k9qz.png'],
    ['', 'image-x4k9qz.png'],
  ])('of %j is %s', (prompt, name) => {
    expect(named(prompt)).toBe(name);
  });

  it('says which of several it is, and of what type', () => {
    expect(named('A fox', { index: 1, count: 4, contentType: 'image/svg+xml' })).toBe('a-fox-x4k9qz-2.svg');
  });
});
