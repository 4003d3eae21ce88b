import { distinctNames, snippetsOf } from './snippets.ts';

const request = { model: 'gpt-image-2', prompt: `It's "quoted"\nand $HOME`, size: '1:1', resolution: '1k' };

it('writes prompts that no shell and no language reads otherwise', () => {
  const { curl, Node, Python } = snippetsOf(request, 'sk-1', 'http://host');
  const body = /-d '([\s\S]*)'$/.exec(curl!)![1]!.replaceAll(`'\\''`, `'`);
  expect(JSON.parse(body)).toEqual({ ...request, response_format: 'url' });
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

it('sends files and the mask to the edits, whatever they are called', () => {
  const files = ['a.png', `Ada's "best", 1;2.png`];
  const { curl, Node, Python } = snippetsOf({ ...request, files, overlay: 'mask' }, 'sk-1', 'http://host');
  expect(curl).toContain('http://host/v1/images/edits');
  expect(curl).toContain(`-F 'image[]=@a.png'`);
  expect(curl).toContain(String.raw`-F 'image[]=@"Ada'\''s \"best\", 1;2.png"'`);
  expect(curl).toContain(`-F 'mask=@mask.png'`);
  expect(Node).toContain(String.raw`fs.createReadStream("Ada's \"best\", 1;2.png")`);
  expect(Python).toContain(String.raw`image=[open("a.png", "rb"), open("Ada's \"best\", 1;2.png", "rb")]`);
  expect(Python).toContain('mask=open("mask.png", "rb")');
});

it('asks for further options under their names', () => {
  const options = { output_format: 'webp', output_compression: 40 };
  const { curl, Node, Python } = snippetsOf({ ...request, options }, 'sk-1', 'http://host');
  expect(curl).toContain('"output_format": "webp",\n    "output_compression": 40,');
  expect(Node).toContain('  output_format: "webp",\n  output_compression: 40,');
  expect(Python).toContain('    output_format="webp",\n    output_compression=40,');
});

it('asks for several images and prints all of their links', () => {
  const { curl, Node, Python } = snippetsOf({ ...request, n: 3 }, 'sk-1', 'http://host');
  expect(curl).toContain('"n": 3');
  expect(Node).toMatch(/ {2}n: 3,[\s\S]+for \(const \{ url \} of image\.data\) console\.log\(url\);$/);
  expect(Python).toMatch(/ {4}n=3,[\s\S]+for item in image\.data:\n {4}print\(item\.url\)$/);
  expect(snippetsOf({ ...request, n: 3, files: ['a.png'] }, 'sk-1', 'http://host')['curl']).toContain(
    "--form-string 'n=3'",
  );
  expect(snippetsOf({ ...request, n: 1 }, 'sk-1', 'http://host')).toEqual(snippetsOf(request, 'sk-1', 'http://host'));
});

it('tells files of one name apart, and from the mask', () => {
  expect(distinctNames(['image.png', 'image.png', 'mask.png', 'image-2.png', 'x', 'x'])).toEqual([
    ...['image.png', 'image-2.png', 'mask-2.png', 'image-2-2.png', 'x', 'x-2'],
  ]);
});

it('shows the task where the key is answered with one', () => {
  expect(snippetsOf({ ...request, answeredByTask: true }, 'sk-1', 'http://host')['Node']).toMatch(/data\[0\]\);$/);
});

it('asks for fields that only this model has, in Python beside what OpenAI knows', () => {
  const extra = { seed: 7, negative_prompt: 'a "blur"', tiling: true };
  const { curl, Node, Python } = snippetsOf({ ...request, extra }, 'sk-1', 'http://host');
  expect(curl).toContain('"seed": 7,\n    "negative_prompt": "a \\"blur\\"",\n    "tiling": true,');
  expect(Node).toContain('  seed: 7,\n');
  expect(Python).toContain('extra_body={"resolution":"1k","seed":7,"negative_prompt":"a \\"blur\\"","tiling":True}');
});
