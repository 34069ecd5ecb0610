-- Compares NESO's shares of Great Britain's generation with Elexon's mix, without imports and storage. Daily means
-- differ by 5 points at most.
WITH neso AS (
    SELECT zone, ts, fuel, 100 * value / sum(value) OVER (PARTITION BY zone, ts) AS share
    FROM generation
    WHERE zone = 'GB' AND unit = '%' AND fuel NOT IN ('imports', 'pumped_storage', 'battery')
),
elexon AS (
    SELECT zone, ts, CASE WHEN fuel LIKE 'wind%' THEN 'wind' ELSE fuel END AS fuel,
           100 * greatest(value, 0) / sum(greatest(value, 0)) OVER (PARTITION BY zone, ts) AS share
    FROM mix
    WHERE zone = 'GB' AND resolution = '30m' AND fuel NOT IN ('pumped_storage', 'battery')
),
by_fuel AS (SELECT zone, ts, fuel, sum(share) AS share FROM elexon GROUP BY ALL)
SELECT
    zone, timezone(tz, to_timestamp(ts))::DATE AS day,
    format('{}: {:.1f} % by NESO, {:.1f} % by Elexon', fuel, avg(n.share), avg(e.share)) AS detail
FROM neso n JOIN by_fuel e USING (zone, ts, fuel) JOIN zones USING (zone)
WHERE fuel IN ('gas', 'nuclear', 'wind', 'coal', 'biomass', 'solar', 'hydro')
GROUP BY zone, day, fuel
HAVING abs(avg(n.share) - avg(e.share)) > 5
