import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md'],
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  ),
];
/** Pages about the code as it is; decisions name what existed on their day. */
const CODE_PAGES = ['docs/architecture.md', 'docs/internals.md', 'CONTRIBUTING.md'];
/** Each file and folder of the code, with and without `.ts`. */
const CODE = ['apps', 'libs'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const path = `/${join(folder, name)}`;
    return [path, path.replace(/\.tsx?$/, '')];
  }),
);

function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```.*?^```/gms, '');
}

/** As GitHub makes them from headings. */
function anchorsOf(page: string): string[] {
  const headings = textOf(page).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

it.each(PAGES)('%s links to pages and headings that exist', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const broken = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

it.each(CODE_PAGES)('%s names files that exist', (page) => {
  const named = [...textOf(page).matchAll(/`([a-z-]+\/[a-zA-Z./-]+)`/g)].map(([, path = '']) => path);
  const missing = named.filter((path) => {
    if (existsSync(join(ROOT, path)) || existsSync(join(ROOT, `${path}.ts`))) return false;
    // The pages leave out the folders that the apps have in common.
    const wanted = `/${path.replace(/^(api|worker)\//, 'apps/$1/src/').replace(/\/$/, '')}`;
    return !CODE.some((file) => file.endsWith(wanted));
  });
  expect(missing).toEqual([]);
});
