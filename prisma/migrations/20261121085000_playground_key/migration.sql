-- The key that playgrounds draw with is shown in lists, under the name that people know.
UPDATE api_keys SET name = 'Playground' WHERE hidden AND name = 'console';
