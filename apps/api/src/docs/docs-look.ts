/**
 * Styles the reference page in the console's colors (apps/dashboard/src/app/global.css), light and dark. The page has
 * its own colors per method and state, each with a specific selector, so most rules need !important. There is no other
 * handle: Swagger UI (5.33) has no CSS variables, and it switches to its own dark rules by itself.
 */
export const DOCS_STYLE = `
html { color-scheme: light; --page: #faf9f8; --surface: #fff; --line: #e7e5e4; --text: #1c1917; --dimmed: #645f5b; --accent: #9a3412; --fill: #b23a0e; --method: #57534e; }
html.dark-mode { color-scheme: dark; --page: #131211; --surface: #1c1a19; --line: #33302e; --text: #ece9e7; --dimmed: #a8a29e; --accent: #fdba8c; }
body, html.dark-mode body { background: var(--page) !important; color: var(--text); font: 15px/1.5 'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; }
.docs-head { display: flex; flex-wrap: wrap; gap: 6px 20px; align-items: center; max-width: 1240px; margin: 0 auto; padding: 16px 20px 0; color: var(--dimmed); }
.docs-head strong { display: flex; gap: 10px; align-items: center; font-size: 18px; color: var(--text); margin-right: auto; }
.docs-head a { color: var(--accent); }
.swagger-ui :not(.opblock-summary-method, .btn.execute, .microlight, .microlight *, a, a *, code, svg, svg *) { color: inherit !important; }
.swagger-ui :not(code, pre, pre *, .microlight, textarea, .opblock-summary-path, .opblock-summary-path *, .parameter__name, .parameter__type, .json-schema-2020-12__title, .json-schema-2020-12-keyword__name) { font-family: inherit !important; }
.swagger-ui :not(svg) { transition: none !important; }
html.dark-mode, .swagger-ui, html.dark-mode .swagger-ui { background: none !important; color: var(--text); font-family: inherit; }
.swagger-ui .opblock :not(.btn.execute, svg *) { border-color: var(--line) !important; }
.swagger-ui .topbar, .swagger-ui .schemes-server-container, .swagger-ui .info__license, .swagger-ui__skip-link { display: none !important; }
.swagger-ui .wrapper { max-width: 1240px; }
.swagger-ui .info { margin: 24px 0 8px; }
.swagger-ui .info .title { font-size: 26px; font-weight: 650; }
.swagger-ui .info .title small { background: var(--line) !important; border-radius: 6px; vertical-align: middle; }
.swagger-ui .scheme-container, html.dark-mode .swagger-ui .scheme-container { background: none; box-shadow: none; padding: 0 0 12px; margin: 0; }
.swagger-ui .opblock-tag, html.dark-mode .swagger-ui .opblock-tag { gap: 8px; font-size: 18px; border-color: var(--line); }
.swagger-ui :is(.parameter__in, .parameter__type, .opblock-summary-description, .opblock-tag small, .response-col_links, .response-control-media-type__accept-message, .model-example .tab li) { color: var(--dimmed) !important; }
.swagger-ui .opblock { border: 1px solid var(--line) !important; border-radius: 12px; background: var(--surface) !important; box-shadow: none !important; }
.swagger-ui .opblock .opblock-summary { border-color: var(--line) !important; }
.swagger-ui .opblock .opblock-summary:hover, .swagger-ui .btn:hover { background: color-mix(in srgb, var(--text) 4%, transparent); }
.swagger-ui .opblock .opblock-section-header { border-bottom: 1px solid var(--line); background: none !important; box-shadow: none; }
.swagger-ui .opblock .opblock-summary-method { min-width: 68px; border-radius: 6px; background: var(--method) !important; color: #fff !important; font-size: 12px; font-weight: 600; text-shadow: none; }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: var(--fill) !important; }
.swagger-ui .opblock .tab-header .tab-item.active h4 span::after { background: var(--fill) !important; }
.swagger-ui :is(.markdown, .renderedMarkdown) code { background: var(--line) !important; color: var(--text) !important; font-weight: 500; }
.swagger-ui pre.microlight { background: #1c1917 !important; border: 1px solid var(--line); border-radius: 8px; }
/* Numbers: its own red is too dark on what it shows answers on. */
.swagger-ui .microlight span[style*='211, 99, 99'] { color: #f3a6a6 !important; }
.swagger-ui :is(input, select, textarea), html.dark-mode .swagger-ui :is(input, select, textarea) { background-color: var(--surface); border: 1px solid var(--line); border-radius: 8px; box-shadow: none; }
.swagger-ui .btn, .swagger-ui button.json-schema-2020-12-expand-deep-button, html.dark-mode .swagger-ui .btn { border-radius: 8px !important; border: 1px solid var(--line) !important; background: none; box-shadow: none; font-weight: 500; }
.swagger-ui .btn.authorize { color: var(--accent) !important; }
.swagger-ui .btn.authorize svg, .swagger-ui .btn.authorize svg * { fill: var(--accent) !important; }
.swagger-ui .btn.execute, html.dark-mode .swagger-ui .btn.execute { background: var(--fill); border-color: var(--fill) !important; color: #fff; }
.swagger-ui .btn.execute:hover { background: #8f3013; }
.swagger-ui :is(.info, .markdown, .renderedMarkdown) a { color: var(--accent) !important; }
.swagger-ui :is(.json-schema-2020-12, .model-box, .json-schema-2020-12-json-viewer) { background: none !important; }
.swagger-ui .dialog-ux .modal-ux, html.dark-mode .swagger-ui .dialog-ux .modal-ux { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; }
.swagger-ui .dialog-ux :is(.modal-ux-header, .auth-container) { border-color: var(--line); }
.swagger-ui .responses-inner, .swagger-ui .parameters-container { overflow-x: auto; }
@media (max-width: 640px) {
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .opblock-tag small { flex-basis: 100%; padding-left: 0; }
  .swagger-ui .opblock .opblock-summary-path { overflow-wrap: anywhere; }
  .swagger-ui table, .swagger-ui tbody, .swagger-ui tr, .swagger-ui td { display: block; width: auto !important; }
  .swagger-ui table thead { display: none; }
  .swagger-ui .opblock-section-header { flex-wrap: wrap; height: auto; }
  .swagger-ui .opblock-body { overflow-x: auto; }
}
`;

/**
 * Sets the color scheme, fixes accessibility problems, and accepts a newly created key from a console page. The key
 * stays in this page's memory: it is neither stored nor part of a URL. `path`: the path of PUBLIC_URL.
 */
export const docsScript = (path: string): string => `(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const dress = () => {
    const chosen = localStorage.getItem('mantine-color-scheme-value');
    const isDark = chosen === 'dark' || (chosen !== 'light' && dark.matches);
    document.documentElement.classList.toggle('dark-mode', isDark);
  };
  dark.addEventListener('change', dress);
  addEventListener('storage', dress);
  dress();

  const page = document.getElementById('swagger-ui');
  const each = (selector, mend) => page.querySelectorAll(selector).forEach(mend);
  const region = (label) => (part) => {
    part.setAttribute('role', 'region');
    part.setAttribute('aria-label', label);
  };
  const mend = () => {
    each('.information-container', region('About'));
    each('.scheme-container', region('Key'));
    each('h3, h4, h5', (head) => head.setAttribute('aria-level', String(Number(head.tagName[1]) - 1)));
    // A link within a button that goes nowhere.
    each('.opblock-summary-control a[href]', (link) => link.removeAttribute('href'));
    each('pre', (code) => code.setAttribute('tabindex', '0'));
    each('.parameters :is(select, input):not([aria-label])', (field) => {
      field.setAttribute('aria-label', field.closest('[data-param-name]')?.dataset.paramName ?? 'Value');
    });
    each('.body-param__text', (field) => field.setAttribute('aria-label', 'Request body'));
    each('.modal-ux', (dialog) => {
      dialog.setAttribute('role', 'dialog');
      dialog.setAttribute('aria-label', 'Authorize');
    });
    each('#auth-bearer-value', (field) => field.setAttribute('aria-label', 'API key'));
    each('.close-modal', (button) => button.setAttribute('aria-label', 'Close'));
    each('.modal-btn[aria-label]', (button) => button.removeAttribute('aria-label'));
  };
  new MutationObserver(mend).observe(page, { childList: true, subtree: true });
  mend();

  const link = (href, text) => Object.assign(document.createElement('a'), { href, textContent: text });
  const mark = Object.assign(document.createElement('img'), { src: '${path}/docs/darkroom.svg', alt: '', width: 28, height: 28 });
  const name = document.createElement('strong');
  name.append(mark, 'Darkroom');
  const hint = document.createElement('span');
  hint.setAttribute('role', 'status');
  hint.append('To send requests from here, ', link('${path}/console/keys', 'create a key'), ' and choose Authorize.');
  const head = Object.assign(document.createElement('header'), { className: 'docs-head' });
  head.append(name, hint, link('${path}/console/', 'Console'));
  document.body.prepend(head);

  const authorize = (key, tries) => {
    // It takes the key once it has read the document.
    window.ui?.preauthorizeApiKey('bearer', key);
    if (window.ui?.authSelectors.authorized()?.has('bearer')) hint.textContent = 'Your new key is filled in. Reload to forget it.';
    else if (tries > 0) setTimeout(() => authorize(key, tries - 1), 100);
  };
  const { opener } = window;
  if (opener === null) return;
  addEventListener('message', ({ origin, source, data }) => {
    if (origin !== location.origin || source !== opener || typeof data?.key !== 'string') return;
    authorize(data.key, 100);
  });
  opener.postMessage('darkroom-docs-ready', location.origin);
})();
`;

/** The product's logo, same as apps/dashboard/src/app/mark.svg. */
export const DOCS_MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#c2410c"/>' +
  '<circle cx="16" cy="16" r="8.5" fill="none" stroke="#fff" stroke-width="2.5"/><path d="M16 7.5a8.5 8.5 0 0 1 0 17z" fill="#fff"/></svg>';
