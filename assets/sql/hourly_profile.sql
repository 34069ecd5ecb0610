-- Selects a metric's daily profile: its mean per hour of civil time over a month.
SELECT
    zone, metric, month, hour, unit,
    exact_mean(sum(CAST(value AS DECIMAL(18, 6)) * seconds), sum(seconds)) AS mean, min(value) AS min, max(value) AS max,
    CAST(sum(seconds) AS INTEGER) AS seconds_covered, CAST(count(DISTINCT date) AS INTEGER) AS days
FROM readings r JOIN calendar c ON r.ts - r.ts % 1800 = c.ts
WHERE counterparty IS NULL AND link IS NULL
GROUP BY ALL
