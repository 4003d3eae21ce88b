import { snippetsOf } from './snippets.ts';

const request = { model: 'gpt-image-2', prompt: `It's "quoted"\nand $HOME`, size: '1:1', resolution: '1k' };

it('writes prompts that no shell and no language reads otherwise', () => {
  const { curl, Node, Python } = snippetsOf(request, 'sk-1', 'http://host');
  const body = /-d '([\s\S]*)'$/.exec(curl!)![1]!.replaceAll(`'\\''`, `'`);
  expect(JSON.parse(body)).toEqual(request);
  expect(Node).toContain(String.raw`prompt: "It's \"quoted\"\nand $HOME"`);
  expect(Python).toContain(String.raw`prompt="It's \"quoted\"\nand $HOME"`);
});

it('fills in the address and the secret, and gives Python what its client does not know as extra_body', () => {
  const { curl, Node, Python } = snippetsOf(request, 'sk-1', 'http://host');
  expect(curl).toContain('http://host/v1/images/generations');
  expect(curl).toContain('Bearer sk-1');
  expect(Node).toContain("apiKey: 'sk-1'");
  expect(Python).toContain('extra_body={"resolution":"1k"}');
  expect(Python).not.toContain('    resolution=');
});

it('sends files to the edits', () => {
  const { curl, Python } = snippetsOf({ ...request, files: ['a.png', 'b.png'] }, 'sk-1', 'http://host');
  expect(curl).toContain('http://host/v1/images/edits');
  expect(curl).toContain(`-F 'image[]=@b.png'`);
  expect(Python).toContain('image=[open("a.png", "rb"), open("b.png", "rb")]');
});
