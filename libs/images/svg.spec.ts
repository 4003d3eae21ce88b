import { safeSvg } from './svg.js';

const svg = (content: string, attributes = 'width="40" height="30"'): Buffer =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${attributes}>${content}</svg>`,
  );
const written = (content: string): string => safeSvg(svg(content), undefined).bytes.toString();

describe('an SVG document', () => {
  it('keeps what draws', () => {
    const drawing =
      '<defs><linearGradient id="g"><stop offset="0" stop-color="#fff"></stop></linearGradient></defs>' +
      '<style>.a { fill: url(#g) } .b > .c { stroke: red }</style><rect class="a" width="4" height="3"></rect>' +
      '<g id="n"><text x="1">1 &lt; 2 &amp; "3"</text></g><use xlink:href="#n"></use>' +
      '<image href="data:image/png;base64,AAAA"></image><circle fill="url(\'#g\')"></circle>' +
      '<animate attributeName="opacity" values="0;1"></animate>';
    const found = safeSvg(svg(drawing), undefined);
    expect(found).toMatchObject({ width: 40, height: 30, received: { width: 40, height: 30 }, isReduced: false });
    const text = found.bytes.toString();
    expect(text).toContain('<use xlink:href="#n">');
    expect(text).toContain('.b &gt; .c { stroke: red }');
    expect(text).toContain('<text x="1">1 &lt; 2 &amp; &quot;3&quot;</text>');
    expect(text).toContain('<image href="data:image/png;base64,AAAA">');
    // What is written is read as the same.
    expect(safeSvg(found.bytes, undefined).bytes.toString()).toBe(text);
  });

  it('keeps spaces where they count, and references to nothing', () => {
    const found = safeSvg(svg('<text xml:space="preserve" xml:lang="en"> a </text><use href="#"/>'), undefined);
    expect(found.isReduced).toBe(false);
    expect(found.bytes.toString()).toContain('<text xml:space="preserve" xml:lang="en"> a </text>');
  });

  it('has no characters that XML forbids', () => {
    expect(written('<text>a\u{1}b</text>')).toContain('<text>a\u{fffd}b</text>');
  });

  it('keeps a path that is most of the document', () => {
    const path = 'M0 0L1 1'.repeat(100_000);
    expect(written(`<path d="${path}"/>`)).toContain(path);
  });

  it('is shown at the size that was ordered, whole', () => {
    const found = safeSvg(svg('<rect/>'), { width: 400, height: 200 });
    expect(found).toMatchObject({ width: 400, height: 200, received: { width: 40, height: 30 } });
    expect(found.bytes.toString()).toContain('width="400" height="200" viewBox="0 0 40 30"');
    const boxed = safeSvg(svg('<rect/>', 'viewBox="10 20 64 32" width="100%"'), undefined);
    expect(boxed).toMatchObject({ width: 64, height: 32 });
    expect(boxed.bytes.toString()).toContain('viewBox="10 20 64 32"');
  });

  it.each([
    ['<script>alert(1)</script>'],
    ['<g><script xlink:href="//evil.example/x.js"/></g>'],
    ['<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script><script/>'],
    [
      '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="https://evil.example"/></body></foreignObject>',
    ],
    ['<rect onload="alert(1)" width="1"/>'],
    ['<rect ONCLICK="alert(1)"/>'],
    ['<a href="javascript:alert(1)"><rect/></a>'],
    ['<a xlink:href="https://evil.example"><rect/></a>'],
    ['<image href="https://evil.example/a.png"/>'],
    ['<image xlink:href="//evil.example/a.png"/>'],
    ['<image href="data:image/svg+xml;base64,AAAA"/>'],
    ['<image href="data:text/html,evil.example"/>'],
    ['<use href="https://evil.example/a.svg#x"/>'],
    ['<use href="&#104;ttps://evil.example/a.svg#x"/>'],
    ['<rect fill="url(https://evil.example/#a)"/>'],
    ['<rect filter="url( \'//evil.example/#a\' )"/>'],
    ['<rect style="background: url(https://evil.example)"/>'],
    ['<rect style="fill: u\\72l(https://evil.example)"/>'],
    ['<style>@import "https://evil.example/a.css";</style>'],
    ['<style>rect { fill: URL("https://evil.example/#a") }</style>'],
    ['<style>@font-face { font-family: a; src: url(https://evil.example/a.woff) }</style>'],
    ['<style><![CDATA[ rect { fill: \\75 rl(https://evil.example) } ]]></style>'],
    ['<set attributeName="href" to="https://evil.example"/>'],
    ['<image><animate attributeName="xlink:href" values="https://evil.example"/></image>'],
    ['<rect><animate attributeName="fill" to="url(https://evil.example/#a)"/></rect>'],
    ['<g xml:base="https://evil.example/"><use href="#a"/></g>'],
    ['<?xml-stylesheet href="https://evil.example/a.css"?><rect/>'],
    ['<rect mask="u\\72l(https://evil.example/x.png)"/>'],
    ['<rect cursor="url(https://evil.example/c.png), auto" fill="image-set(\'https://evil.example/c.png\' 1x)"/>'],
    ['<rect><animate attributeName="mask" to="u\\72l(https://evil.example/x.png)"/></rect>'],
    ['<desc><image src="https://evil.example/p.png" srcset="https://evil.example/p.png"/></desc>'],
    ['<image src="https://evil.example/p.png"/>'],
    ['<image href="&#xA0;https://evil.example/p.png"/>'],
    ['<style><g>evil</g></style>'],
    ['<handler type="application/ecmascript">evil.example</handler>'],
    ['<iframe xmlns="http://www.w3.org/2000/svg" src="https://evil.example"/>'],
  ])('loses what runs or loads something: %s', (content) => {
    const text = written(content);
    expect(text).not.toMatch(/evil|script|alert|on(?:load|click)|@import|xml-stylesheet|foreign|svg\+xml|text\/html/i);
    expect(safeSvg(svg(content), undefined).isReduced).toBe(true);
  });

  it('leaves the notes of editors out without a word', () => {
    const notes =
      '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata><!-- made by --><i:view xmlns:i="http://inkscape.example"/>';
    const found = safeSvg(svg(notes), undefined);
    expect(found.isReduced).toBe(false);
    expect(found.bytes.toString()).not.toMatch(/rdf|made by|inkscape/);
  });

  it.each([
    ['a document that is not XML', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><g></svg>')],
    ['one that is cut', svg('<rect/>').subarray(0, -5)],
    ['another kind of document', Buffer.from('<html xmlns="http://www.w3.org/1999/xhtml"/>')],
    ['an svg element of no namespace', Buffer.from('<svg width="1" height="1"/>')],
    ['an empty file', Buffer.alloc(0)],
    ['another encoding', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('<svg/>', 'utf16le')])],
    ['one without a size', svg('<rect/>', 'width="100%" height="50%"')],
    ['one of no size', svg('<rect/>', 'width="0" height="10"')],
    [
      'one with entities',
      Buffer.from('<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>'),
    ],
    ['one nested too deeply', svg('<g>'.repeat(300) + '</g>'.repeat(300))],
    ['one that draws itself', svg('<g id="a"><use href="#a"/></g><use href="#a"/>')],
    [
      'one that grows when it is drawn',
      svg(Array.from({ length: 12 }, (_, n) => `<g id="l${n}">${`<use href="#l${n - 1}"/>`.repeat(10)}</g>`).join('')),
    ],
    [
      'one that grows behind spaces',
      svg(Array.from({ length: 25 }, (_, n) => `<g id="a${n}">${`<use href=" #a${n - 1} "/>`.repeat(2)}</g>`).join('')),
    ],
    [
      'one that grows with encoded names',
      svg(Array.from({ length: 25 }, (_, n) => `<g id="a${n}">${`<use href="#%61${n - 1}"/>`.repeat(2)}</g>`).join('')),
    ],
    [
      'one that draws many elements often',
      svg(`<g id="a">${'<path/>'.repeat(40_000)}</g>${'<use href="#a"/>'.repeat(40_000)}`),
    ],
    [
      'one whose parts draw each other in a long chain',
      svg(Array.from({ length: 20_000 }, (_, n) => `<g id="a${n}"><use href="#a${n + 1}"/></g>`).join('')),
    ],
    ['one with many attributes', svg(`<g ${Array.from({ length: 200_000 }, (_, n) => `a${n}="1"`).join(' ')}/>`)],
    ['two of them', Buffer.concat([svg('<rect/>'), svg('<rect/>')])],
    ['one that is too large', svg(`<path d="${'M0 0'.repeat(1_100_000)}"/>`)],
  ])('is refused: %s', (_, bytes) => {
    expect(() => safeSvg(bytes, undefined)).toThrow('The SVG document');
  });

  it('is read in time that grows with its size', () => {
    const spaces = ' '.repeat(1_000_000);
    const texts = [`url(${spaces}`, `url('${spaces}`, `data:image/png;base64,${spaces}!`, 'url('.repeat(250_000)];
    for (const text of texts) expect(written(`<rect fill="${text}" href="${text}"/>`)).toContain('<rect');
    const nested = '<g id="a">'.repeat(190) + '<use href="#q"/>'.repeat(90_000) + '</g>'.repeat(190);
    expect(safeSvg(svg(nested), undefined).isReduced).toBe(false);
  });
});
