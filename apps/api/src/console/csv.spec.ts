import { csv } from './csv.js';

describe('csv', () => {
  it('quotes what needs quotes', () => {
    expect(
      csv([
        ['a', 1, null],
        ['b"c', 'd,e', 'f\ng'],
      ]),
    ).toBe('a,1,\r\n"b""c","d,e","f\ng"\r\n');
  });

  it.each([
    ...['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', '\nx', '\n=1+1', '\r\n=1+1'],
    ...['＝1+1', '＋1', '－1', '＠SUM(A1)', '﹦1', '\u2212 1', ' =1+1', '\u00a0=1+1', '\u200b=1+1', '\ufeff=1+1'],
  ])('shows %j as a text', (text) => {
    expect(csv([[text]])).toMatch(/^"?'/);
  });
});
