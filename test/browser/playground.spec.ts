import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

/** Long enough to see a provider at work, also on a machine that looks at the page less often. */
const AT_WORK = `latency=${patientSetting(3_000, 45_000)}ms`;

describe('making images in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const draw = async (prompt: string): Promise<void> => {
    await page().getByLabel('Prompt').fill(prompt);
    await button('Generate').click();
  };
  const newest = async (): Promise<string> => {
    const { rows } = await platform.pool.query<{ id: string }>('SELECT id FROM tasks ORDER BY id DESC LIMIT 1');
    return rows[0]!.id;
  };

  beforeAll(async () => {
    // One at a time, so that there is a queue to stand in.
    platform = await startPlatform({ WORKER_CONCURRENCY: '1', MAX_TASKS_IN_FLIGHT: '2' });
    screen = await openScreen(platform.url);
    await open(`/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await page().getByLabel('Your name').fill('Ada');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await openPage(page(), 'Playground');
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(() => {
    expect(screen.troubles).toEqual([]);
  });

  it('shows the image as it comes into being', async () => {
    // Nobody knows yet how long an image takes here, so nothing is said of it.
    await button(/^Generate\s*free$/).waitFor();
    await draw(`A red fox in the snow [[${AT_WORK}]]`);
    const unfinished = page().getByRole('img', { name: 'Partial image' });
    await unfinished.waitFor();
    await page()
      .getByText(/^Generating · \d+ s$/)
      .waitFor();
    // Nothing moves for those who asked for less motion.
    expect(
      await page().evaluate(
        `document.getAnimations().filter(({ effect }) => effect.target.matches('.mantine-Progress-section, .wait-shimmer')).length`,
      ),
    ).toBe(0);
    const address = await unfinished.getAttribute('src');
    expect(address).toMatch(/^data:image\/(png|jpeg|webp);base64,/);
    expect(await screen.inspect('playground-making')).toEqual([]);
    await page().getByRole('img', { name: 'A red fox in the snow' }).waitFor();
    // What screen readers are told, without the names of its buttons.
    await page()
      .getByRole('group', { name: 'Result' })
      .getByRole('status')
      .getByText(/^Image ready$/)
      .waitFor();
    expect(await unfinished.count()).toBe(0);
    await button(/^Generate\s*free · about \d+ s$/).waitFor();
  });

  it('says where the task stands in the queue and how long it takes, and cancels it there', async () => {
    const ahead = await Promise.all(
      ['one', 'two'].map(async (prompt) => {
        const body = { model: 'gpt-image-2', prompt: `${prompt} [[latency=170s]]`, resolution: '1k' };
        const answer = await platform.call('/v1/images/generations/async', { body });
        return ((await answer.json()) as { id: string }).id;
      }),
    );
    await draw('A boat that waits');
    await page()
      .getByText(/^Waiting in line, position [1-3] · about .+ left · waited .+$/)
      .waitFor();
    expect(await screen.inspect('playground-waiting')).toEqual([]);
    for (const prompt of ['A second boat', 'A boat too many']) await draw(prompt);
    await page().getByRole('alert').getByText('Could not submit the request').waitFor();
    expect(await page().getByLabel('Prompt').inputValue()).toBe('A boat too many');
    expect(await screen.inspect('playground-too-many')).toEqual([]);
    await button('Cancel').click();
    await page().getByText('you may still be charged').waitFor();
    expect(await screen.inspect('cancel')).toEqual([]);
    await button('Cancel task').click();
    await page().getByText('Task canceled').waitFor();
    for (const id of ahead) await platform.call(`/v1/tasks/${id}/cancel`, { method: 'POST' });
  });

  it('makes one task of a double click, of a held key, and of a request whose answer was lost', async () => {
    const tasksOf = async (prompt: string): Promise<number> => {
      const { rows } = await platform.pool.query('SELECT id FROM tasks WHERE prompt = $1', [prompt]);
      return rows.length;
    };
    // The second click of a double click, when the first has long been answered.
    const clickTwice = async (name: string): Promise<void> => {
      const { x = 0, y = 0 } = (await button(name).boundingBox()) ?? {};
      await page().mouse.move(x + 9, y + 9);
      await page().mouse.down({ clickCount: 2 });
      await page().mouse.up({ clickCount: 2 });
    };
    await open('/playground');
    const finished = (prompt: string) => page().getByRole('img', { name: prompt }).waitFor();
    await page().getByLabel('Prompt').fill('One boat');
    await button('Generate').click();
    await finished('One boat');
    await clickTwice('Generate');
    await page().getByLabel('Prompt').fill('One harbor');
    await button('Generate').focus();
    // Without a key up in between, the second press is a repetition, as of a key that is held.
    for (let presses = 0; presses < 3; presses++) await page().keyboard.down('Enter');
    await page().keyboard.up('Enter');
    await finished('One harbor');
    await page().getByLabel('Prompt').fill('One pier');
    await page().route('**/console/api/images', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await button('Generate').click();
    await page().getByRole('alert').getByText('The service did not respond').waitFor();
    await page().unroute('**/console/api/images');
    await button('Generate').click();
    await finished('One pier');
    expect(await Promise.all(['One boat', 'One harbor', 'One pier'].map(tasksOf))).toEqual([1, 1, 1]);
    const before = await newest();
    await open(`/tasks/${before}`);
    await button('Run again').click();
    await page().waitForURL((url) => url.pathname.startsWith('/console/tasks/') && !url.pathname.endsWith(before));
    await clickTwice('Run again');
    await finished('One pier');
    expect(await tasksOf('One pier')).toBe(2);
  });

  it('brings the result into view on a phone', async () => {
    await page().setViewportSize({ width: 390, height: 844 });
    await open('/playground');
    await draw('A lantern on a phone');
    const image = page().getByRole('img', { name: 'A lantern on a phone' });
    await image.waitFor();
    const isInView = async () => ((await image.boundingBox())?.y ?? Infinity) < 844;
    expect(await waitUntil(isInView, { timeoutMs: 30_000 })).toBe(true);
    await page().setViewportSize({ width: 1280, height: 860 });
  });

  it('says why there is no image', async () => {
    await draw('Something forbidden [[fault=moderation]]');
    await page().getByRole('alert').getByText('moderation_blocked').waitFor();
    await page().getByText('No image: blocked by moderation').waitFor();
    expect(await screen.inspect('playground-refused')).toEqual([]);
    // The same prompt would be blocked again.
    expect(await button(/^Try again/).count()).toBe(0);
    await page().getByLabel('Prompt').fill('');
    await button('Edit prompt').click();
    expect(await page().getByLabel('Prompt').inputValue()).toBe('Something forbidden [[fault=moderation]]');
  });

  it('tries a failed image again as it was ordered, once, however often its answer is lost', async () => {
    const prompt = 'Something broken [[fault=not-an-image]]';
    await draw(prompt);
    await button('Try again · free').waitFor({ timeout: patient(60_000) });
    const before = await newest();
    const ordered = async (): Promise<string[]> => {
      const { rows } = await platform.pool.query<{ prompt: string }>(
        'SELECT prompt FROM tasks WHERE id > $1 ORDER BY id',
        [before],
      );
      return rows.map((row) => row.prompt);
    };
    await page().getByLabel('Prompt').fill('Something else by now');
    await page().route('**/again', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await button('Try again · free').click();
    await page().getByRole('alert').getByText('The service did not respond').waitFor();
    await page().unroute('**/again');
    await button('Try again · free').click();
    await page()
      .getByRole('group', { name: 'Result' })
      .getByText(await newest())
      .waitFor();
    await focused('Result');
    expect(await ordered()).toEqual([prompt]);
    expect(await page().getByLabel('Prompt').inputValue()).toBe('Something else by now');
    // What failed again is ordered anew.
    await page()
      .getByRole('alert')
      .getByText('upstream_invalid_response')
      .waitFor({ timeout: patient(60_000) });
    await button('Try again · free').click();
    expect(await waitUntil(async () => (await ordered()).length === 2, { timeoutMs: 30_000 })).toBe(true);
  });

  it('says which attempt failed, and that there is another one', async () => {
    await draw(`A stubborn fox [[fault=http-500 times=1 ${AT_WORK}]]`);
    await page()
      .getByRole('group', { name: 'Result' })
      .getByText(/^Attempt (1 of 3 failed: sandbox returned 500\.|2 of 3 at sandbox)/)
      .waitFor({ timeout: patient(60_000) });
    await page()
      .getByRole('img', { name: 'A stubborn fox' })
      .waitFor({ timeout: patient(60_000) });
  });

  it('brings back what was made before, and its prompt', async () => {
    await open('/playground');
    await button('Show more').click();
    await button(/^A red fox in the snow/).click();
    await page().getByRole('img', { name: 'A red fox in the snow' }).waitFor();
    await button('Reuse settings').click();
    expect(await page().getByLabel('Prompt').inputValue()).toContain('A red fox in the snow');
  });

  /** Waits until the focus is there; a closed dialog gives it back in its own time. */
  const focused = async (label: string): Promise<void> => {
    const read = () => page().evaluate(`document.activeElement?.getAttribute('aria-label')`);
    expect(await waitUntil(async () => (await read()) === label, { timeoutMs: 30_000 })).toBe(true);
  };
  /** The transparency of the mask at places of its diagonal, as the code's file has it. */
  const maskAt = async (edge: number, places: readonly number[]): Promise<(number | undefined)[]> => {
    const [saved] = await Promise.all([
      page().waitForEvent('download'),
      page().getByText('save it as mask.png').click(),
    ]);
    // Read first: where `libs/images` runs, sharp opens no files.
    const { data } = await sharp(await readFile(await saved.path()))
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return places.map((place) => data[(Math.round(place * edge) * edge + Math.round(place * edge)) * 4 + 3]);
  };

  it('have masks that are painted with a finger or a pen, one line at a time', async () => {
    await open('/playground');
    const buffer = await sharp({ create: { width: 600, height: 600, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    await page().locator('input[type=file]').setInputFiles({ name: '600.png', mimeType: 'image/png', buffer });
    await button('Paint over image').click();
    // As large as its image once that has been read.
    const { x, y, width, height } = (await page().locator('canvas[width="600"]').boundingBox())!;
    const at = (place: number) => ({ x: x + width * place, y: y + height * place });
    const debug = await page().context().newCDPSession(page());
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...places: number[]) =>
      debug.send('Input.dispatchTouchEvent', { type, touchPoints: places.map((place, id) => ({ ...at(place), id })) });
    const pen = (type: 'mousePressed' | 'mouseMoved' | 'mouseReleased', place: number) =>
      debug.send('Input.dispatchMouseEvent', { type, ...at(place), button: 'left', buttons: 1, pointerType: 'pen' });
    await touch('touchStart', 0.1);
    // The second finger draws nothing of its own.
    await touch('touchMove', 0.2, 0.9);
    await touch('touchMove', 0.3, 0.8);
    await touch('touchEnd');
    await pen('mousePressed', 0.5);
    await pen('mouseMoved', 0.6);
    await pen('mouseReleased', 0.6);
    await button('Use mask').click();
    await button('Edit mask').waitFor();
    await focused('Edit mask');
    await button('Show code').click();
    expect(await maskAt(600, [0.2, 0.55, 0.4, 0.85])).toEqual([0, 0, 255, 255]);
  });

  it('have masks that are painted with the keyboard alone', async () => {
    const dialog = page().getByRole('dialog');
    const press = async (name: string): Promise<void> => {
      await dialog.getByRole('button', { name }).focus();
      await page().keyboard.press('Enter');
    };
    // What was painted before is there again, and stays unless it is changed.
    await button('Edit mask').click();
    await dialog.getByRole('button', { name: 'Undo', disabled: false }).waitFor();
    await press('Use mask');
    await focused('Edit mask');
    expect(await maskAt(600, [0.2, 0.55, 0.4, 0.85])).toEqual([0, 0, 255, 255]);
    await button('Edit mask').click();
    await dialog.getByText('Some providers change the rest, too.').waitFor();
    await dialog.getByRole('button', { name: 'Clear', disabled: false }).waitFor();
    await press('Undo');
    await dialog.getByRole('button', { name: 'Undo', disabled: true }).waitFor();
    // The eraser leaves nothing to undo where nothing is painted.
    await dialog.locator('label').filter({ hasText: 'Eraser' }).click();
    await press('Erase everything');
    await dialog.getByRole('button', { name: 'Undo', disabled: true }).waitFor();
    await dialog.locator('label').filter({ hasText: 'Brush' }).click();
    await press('Paint everything');
    await press('Clear');
    await becomes(() => page().evaluate(`document.activeElement.textContent`), 'Clear');
    for (const [label, value] of Object.entries({ Left: '0', Top: '0', Width: '50', Height: '40' }))
      await dialog.getByRole('textbox', { name: label }).fill(value);
    await press('Paint rectangle');
    const said = 'Painted: 50% × 40% of the image, 0% from the left and 0% from the top.';
    await dialog.getByRole('status').getByText(said).waitFor();
    expect(await screen.inspect('mask')).toEqual([]);
    await press('Use mask');
    await focused('Edit mask');
    expect(await maskAt(600, [0.1, 0.38, 0.42, 0.6])).toEqual([0, 0, 255, 255]);
  });

  it('have masks whose strokes are undone and redone, whereas the prompt behind them stays', async () => {
    const dialog = page()
      .getByRole('dialog')
      .filter({ has: page().locator('canvas') });
    const stateOf = (name: string, disabled: boolean) => dialog.getByRole('button', { name, disabled }).waitFor();
    const prompt = () => page().locator('#prompt').inputValue();
    await page().locator('#prompt').fill('');
    await page().locator('#prompt').pressSequentially('A prompt that stays');
    await button('Edit mask').click();
    await focused('Image with the area to change painted over');
    await stateOf('Undo', false);
    await dialog.getByRole('button', { name: 'Paint everything' }).click();
    await page().keyboard.press('Control+z');
    await page().keyboard.press('Control+z');
    await stateOf('Undo', true);
    await page().keyboard.press('Control+z');
    await dialog.getByRole('textbox', { name: 'Left' }).focus();
    await page().keyboard.press('Control+z');
    await page().keyboard.press('Control+Shift+Z');
    await page().keyboard.press('Control+y');
    await stateOf('Redo', true);
    // An order would run without what is being painted.
    const before = await newest();
    await dialog.locator('canvas').focus();
    await page().keyboard.press('Control+Enter');
    // Escape asks before strokes are lost.
    await page().keyboard.press('Escape');
    await button('Keep editing').click();
    await button('Keep editing').waitFor({ state: 'detached' });
    await stateOf('Undo', false);
    await page().keyboard.press('Escape');
    expect(await screen.inspect('mask-discard')).toEqual([]);
    await button('Discard changes').click();
    await dialog.waitFor({ state: 'detached' });
    await focused('Edit mask');
    expect(await prompt()).toBe('A prompt that stays');
    expect(await newest()).toBe(before);
    expect(await maskAt(600, [0.1, 0.38, 0.42, 0.6])).toEqual([0, 0, 255, 255]);
    // On a phone, the button is there without scrolling, and nothing painted needs no question.
    await page().setViewportSize({ width: 390, height: 700 });
    await button('Edit mask').click();
    await stateOf('Undo', false);
    await page().locator('canvas[width="600"]').waitFor();
    const box = (await dialog.getByRole('button', { name: 'Use mask' }).boundingBox())!;
    expect(box.y + box.height).toBeLessThanOrEqual(700);
    await page().keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page().setViewportSize({ width: 1280, height: 860 });
  });

  it('takes no file as a reference that is no image, and says which references it leaves out', async () => {
    await open('/playground');
    const image = await sharp({ create: { width: 20, height: 20, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    const mimeType = 'image/png';
    const good = (name: string) => ({ name, mimeType, buffer: image });
    const files = page().locator('input[type=file]');
    // What was there before is still there; where the browser lost it, the page says so.
    await page().getByTitle('600.png').waitFor();
    await page().evaluate(`new Promise((resolve, reject) => {
      const opening = indexedDB.open('darkroom-draft');
      opening.onerror = reject;
      opening.onsuccess = () => {
        const clearing = opening.result.transaction('files', 'readwrite').objectStore('files').clear();
        clearing.onsuccess = () => { opening.result.close(); resolve(); };
      };
    })`);
    await open('/playground');
    await page().getByText('Reloading the page removed your reference image.').waitFor();
    await button('Dismiss').click();
    await page().getByText('Reloading the page removed').waitFor({ state: 'detached' });
    await files.setInputFiles([good('a.png'), { name: 'broken.png', mimeType, buffer: image.subarray(0, 40) }]);
    await page().getByText('“broken.png” can’t be read as an image.').waitFor();
    await button('Remove reference image 1').waitFor();
    expect(await button(/^Remove reference image/).count()).toBe(1);
    await files.setInputFiles(Array.from({ length: 17 }, (_, index) => good(`${index}.png`)));
    await page()
      .getByText('The model takes at most 16 reference images. “15.png” and “16.png” were not added.')
      .waitFor();
    // The message comes before the images.
    await becomes(() => button(/^Remove reference image/).count(), 16);
    expect(await screen.inspect('playground-references')).toEqual([]);
    // Nor does one from elsewhere take the place of one that is there.
    await openPage(page(), 'Gallery');
    await page()
      .getByRole('checkbox', { name: /^Select/ })
      .first()
      .check();
    await button('Use as references').click();
    await page().getByText('The playground holds 16 reference images. 1 image was not added.').waitFor();
    await page().waitForURL(/\/playground$/);
    await page().getByTitle('a.png').waitFor();
    expect(await button(/^Remove reference image/).count()).toBe(16);
    await page().evaluate('sessionStorage.clear()');
    await open('/playground');
  });

  it('says at once that there is no connection, and orders nothing once it is back', async () => {
    const before = await newest();
    await page().context().setOffline(true);
    try {
      await draw('Nobody waits for this one');
      await page().getByText('The service did not respond. Check your connection and try again.').first().waitFor();
    } finally {
      await page().context().setOffline(false);
    }
    await draw('Somebody waits for this one');
    expect(await waitUntil(async () => (await newest()) !== before, { timeoutMs: 60_000 })).toBe(true);
    const { rows } = await platform.pool.query(`SELECT 1 FROM tasks WHERE prompt = 'Nobody waits for this one'`);
    expect(rows).toEqual([]);
  });

  it('runs a task again as a new one', async () => {
    const before = await newest();
    await open(`/tasks/${before}`);
    await button('Run again').click();
    await page().getByText('New task created from the same request.').waitFor();
    await page().waitForURL((url) => url.pathname.startsWith('/console/tasks/') && !url.pathname.endsWith(before));
    expect(page().url()).toContain(await newest());
  });

  it('leafs through more tasks than fit on one page', async () => {
    await platform.pool.query(
      `INSERT INTO tasks SELECT (jsonb_populate_record(tasks, jsonb_build_object(
         'id', 'task_' || lpad(number::text, 26, '0'), 'prompt', 'Old picture ' || number,
         'created_at', now() - number * interval '1 hour'))).*
       FROM tasks, generate_series(1, 70) AS number WHERE prompt LIKE 'A red fox%' AND status = 'completed'`,
    );
    await open('/tasks');
    const rows = page().getByRole('row');
    await page().getByText('Old picture 1', { exact: true }).waitFor();
    const first = await rows.count();
    await button('Show more').focus();
    await page().keyboard.press('Enter');
    await page().getByText('Old picture 40', { exact: true }).waitFor();
    // It has not lost the focus by being busy.
    await becomes(() => page().evaluate(`document.activeElement.textContent`), 'Show more');
    expect(await rows.count()).toBeGreaterThan(first);
    await button('Show more').click();
    await page().getByText('Old picture 70', { exact: true }).waitFor();
    await button('Show more').waitFor({ state: 'detached' });
  });

  it('lists the tasks of a time that ends now, and says since when', async () => {
    const range = page().getByRole('combobox', { name: 'Time range' });
    const old = (hours: number) => page().getByText(`Old picture ${hours}`, { exact: true });
    const choose = async (name: string): Promise<void> => {
      await range.click();
      await page().getByRole('option', { name, exact: true }).click();
    };
    await page().getByLabel('Search prompts').fill('Old picture');
    // The images are listed before the search, too.
    await page()
      .getByText(/^(At least )?\d+ match(es)? · Newest first$/)
      .waitFor();
    await old(25).waitFor();
    await choose('Last 24 hours');
    await old(24).waitFor({ state: 'detached' });
    await old(23).waitFor();
    await choose('Last hour');
    await old(1).waitFor({ state: 'detached' });
    await page().reload();
    await page().getByText('No matching tasks').waitFor();
    expect(await range.inputValue()).toMatch(/^Since /);
    expect(await screen.inspect('tasks-last-hour')).toEqual([]);
    // What days say is said by the fields of days alone.
    await page().getByLabel('From (UTC)', { exact: true }).fill('2026-11-01');
    expect(await waitUntil(async () => (await range.inputValue()) === '', { timeoutMs: 30_000 })).toBe(true);
  });

  it('edits a key, and rotates it so that both secrets work for a while', async () => {
    await open('/keys');
    await button('Actions for e2e').click();
    await page().getByRole('menuitem', { name: 'Edit' }).click();
    await page().getByRole('textbox', { name: 'Name' }).fill('shop');
    await page().getByPlaceholder('All', { exact: true }).click();
    await page().getByRole('option', { name: 'Generate images' }).click();
    await page().keyboard.press('Escape');
    await button('Rate limits and priority').click();
    await page().getByLabel('Concurrent tasks').fill('7');
    expect(await screen.inspect('key-edit')).toEqual([]);
    // A form that is on its way is not sent again, and its button keeps the focus.
    const sent: string[] = [];
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page().route('**/console/api/keys/*', async (route) => {
      if (route.request().method() !== 'GET') sent.push(route.request().method());
      await answered;
      await route.continue();
    });
    await button('Save').focus();
    await page().keyboard.press('Enter');
    await page().locator('button[data-loading]').waitFor();
    expect(await page().evaluate(`document.activeElement.textContent`)).toBe('Save');
    await page().keyboard.press('Enter');
    answer();
    await page().getByText('images only · 7 concurrent').waitFor();
    expect(sent).toEqual(['PATCH']);
    await page().unroute('**/console/api/keys/*');
    await button('Actions for shop').click();
    await page().getByRole('menuitem', { name: 'Rotate' }).click();
    await page().getByText('Hours the old secret keeps working').waitFor();
    expect(await screen.inspect('rotate')).toEqual([]);
    await button('Rotate key').click();
    const secret = (await page().getByTestId('secret').textContent())!;
    for (const key of [secret, platform.key]) {
      expect((await platform.call('/v1/models', { key })).status).toBe(200);
    }
    await button('I’ve saved it').click();
  });

  it('gives a built-in model to another provider, and says of each model whether the sandbox draws it', async () => {
    await open('/');
    const manage = page().getByRole('link', { name: 'Manage providers and models' });
    expect((await manage.boundingBox())!.height).toBeGreaterThanOrEqual(24);
    await page().getByRole('link', { name: 'Open Providers and models' }).click();
    await page().getByRole('heading', { name: 'Providers and models' }).waitFor();
    const dialog = page().getByRole('dialog');
    const row = page().getByRole('row', { name: /^gpt-image-2/ });
    const another = async (): Promise<void> => {
      await button('Actions for gpt-image-2').click();
      await page().getByRole('menuitem', { name: 'Change provider' }).click();
    };
    await row.getByText('built-in').waitFor();
    const names = () =>
      page()
        .getByRole('region', { name: 'Models' })
        .getByRole('row')
        .locator('td:first-child [title]')
        .allTextContents();
    const order = await names();
    await another();
    await dialog.getByText('First add the provider that should serve “gpt-image-2”.').waitFor();
    expect(await screen.inspect('catalog-provider-for-model')).toEqual([]);
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('own');
    await dialog.getByLabel('Base URL').fill('http://127.0.0.1:9/v1');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    // The same form as from the model's own menu, once there is a provider.
    await dialog.getByRole('status').getByText('This replaces the built-in model “gpt-image-2”.').waitFor();
    await button('Cancel').click();
    await another();
    await dialog.getByRole('heading', { name: 'Change provider for “gpt-image-2”' }).waitFor();
    expect(await dialog.getByRole('combobox', { name: 'Provider of route 1' }).inputValue()).toBe('own');
    await dialog.getByLabel('Model ID of route 1').fill('gpt-image-1');
    expect(await screen.inspect('catalog-model-replaces')).toEqual([]);
    await button('Save').click();
    // The message, which is gone after some seconds, and the history say the same, and the model stays in its place.
    await page().getByText('Built-in model “gpt-image-2” replaced.').waitFor();
    await row.getByText('own', { exact: true }).waitFor();
    const said = page().getByRole('region', { name: 'History' }).getByText('replaced the built-in model “gpt-image-2”');
    await said.waitFor();
    await becomes(names, order);
    await page().setViewportSize({ width: 390, height: 844 });
    expect((await said.boundingBox())!.width).toBeGreaterThan(250);
    await page().setViewportSize({ width: 1280, height: 860 });
    await button('Add model').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('drawn');
    await dialog.getByRole('combobox', { name: 'Provider of route 1' }).click();
    await page().getByRole('option', { name: 'sandbox' }).click();
    await dialog.getByRole('button', { name: 'Add model' }).click();
    await page()
      .getByRole('row', { name: /^drawn/ })
      .waitFor();

    await page().evaluate(`sessionStorage.clear()`);
    await open('/playground');
    const model = page().getByRole('combobox', { name: 'Model' });
    const choose = async (name: string): Promise<void> => {
      await model.click();
      await page().getByRole('option', { name, exact: true }).click();
    };
    const note = page().getByText('so these images are drawn by Darkroom itself.');
    const isChosen = async (): Promise<boolean> => (await model.inputValue()) === 'gpt-image-2';
    expect(await waitUntil(isChosen, { timeoutMs: 30_000 })).toBe(true);
    expect(await note.count()).toBe(0);
    await choose('drawn');
    await page()
      .getByText('No provider is connected for drawn, so these images are drawn by Darkroom itself.')
      .waitFor();
    await page().getByRole('link', { name: 'Add one under Providers and models.' }).waitFor();
    expect(await screen.inspect('playground-sandbox-model')).toEqual([]);
    await choose('gpt-image-2');
    await note.waitFor({ state: 'detached' });

    await open('/catalog');
    await button('Actions for gpt-image-2').click();
    await page().getByRole('menuitem', { name: 'Remove' }).click();
    await dialog.getByText('The built-in model “gpt-image-2” takes its place.').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await row.getByText('built-in').waitFor();
    await row.getByText('sandbox', { exact: true }).waitFor();
    // A new provider is offered for it, too.
    await button('Add provider').click();
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('other');
    await dialog.getByLabel('Base URL').fill('http://127.0.0.1:9/v1');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await page().getByRole('status').getByText('Provider “other” added').waitFor();
    await button('Use it for gpt-image-2').click();
    await dialog.getByRole('heading', { name: 'Change provider for “gpt-image-2”' }).waitFor();
    expect(await dialog.getByRole('combobox', { name: 'Provider of route 1' }).inputValue()).toBe('other');
  });
});
