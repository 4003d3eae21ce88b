import { looksLikeConsole } from './cors.js';

describe('looksLikeConsole', () => {
  it.each([
    ...['/console', '/console/', '/console/api/session', '/console?x', '/console/:id', '/console/*'],
    ...['/%63onsole/api/session', '/%63%6f%6E%73%6f%6c%65/api', '/console%2fapi', '/console%3Fx'],
    ...['//console/api', '/\\console', '/CONSOLE/api', '/Console', '/console;x/api', '/console%00/api', '/console#x'],
    ...['http://evil.example/console/api', 'https://evil.example//%63onsole'],
  ])('takes %j for the console', (url) => {
    expect(looksLikeConsole(url)).toBe(true);
  });

  it.each(['/', '/v1/models', '/consoles', '/v1/console', '/console-x', '/?/console', '/f/console', '/%', '/docs'])(
    'takes %j for no part of it',
    (url) => {
      expect(looksLikeConsole(url)).toBe(false);
    },
  );
});
