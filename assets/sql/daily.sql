-- Selects means, extremes and coverage of the served rows per civil day of a zone, and its runs of negative prices.
WITH placed AS (
    SELECT zone, metric, month, date, day_start, unit, feed, r.ts, value, least(r.ts + seconds, day_end) AS until
    FROM readings r JOIN calendar c ON r.ts - r.ts % 1800 = c.ts
    WHERE counterparty IS NULL AND link IS NULL
),
begun AS (
    SELECT *, (lag(until) OVER (PARTITION BY date, unit ORDER BY ts) IS DISTINCT FROM ts)::INTEGER AS begins
    FROM placed WHERE value < 0 AND metric LIKE 'price%'
),
numbered AS (SELECT *, sum(begins) OVER (PARTITION BY date, unit ORDER BY ts) AS run FROM begun),
spans AS (SELECT date, unit, min(ts) AS start, max(until) AS until FROM numbered GROUP BY date, unit, run),
runs AS (
    SELECT date, unit, list({'start': start, 'end': until} ORDER BY start) AS negative_runs FROM spans GROUP BY date, unit
),
days AS (
    SELECT
        zone, metric, month, date, day_start AS ts, unit,
        CAST(sum(CAST(value AS DECIMAL(18, 6)) * (until - ts)) AS DECIMAL(18, 6)) AS total,
        CAST(sum(until - ts) AS INTEGER) AS seconds_covered,
        CAST(count(*) AS INTEGER) AS samples,
        min(value) AS min, arg_min(ts, ROW(value, ts)) AS min_ts,
        max(value) AS max, arg_max(ts, ROW(value, -ts)) AS max_ts,
        coalesce(sum(until - ts) FILTER (value < 0), 0) / 3600 AS negative_hours,
        CAST(coalesce(sum(CAST(value AS DECIMAL(18, 6)) * (until - ts)) FILTER (value < 0), 0) AS DECIMAL(18, 6))
            AS negative_total,
        string_agg(DISTINCT feed, ', ' ORDER BY feed) AS feeds
    FROM placed GROUP BY ALL
)
SELECT
    zone, metric, month, date, ts, unit, exact_mean(total, seconds_covered) AS mean, min, min_ts, max, max_ts,
    seconds_covered, negative_hours, negative_total, samples, total, coalesce(negative_runs, []) AS negative_runs, feeds
FROM days LEFT JOIN runs USING (date, unit)
